package vault

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"rouse/internal/lazy"
)

// Connections are what a vault holds: by name, as in postgres/PROD_DB, the
// fields of each.
type Connections map[string]map[string]string

// maxValue is how many bytes a value may have: Linux passes no longer variable
// than 128 KiB to a process.
const maxValue = 64 << 10

var (
	namePattern  = lazy.Regexp{Expr: `^[A-Za-z][A-Za-z0-9_.-]{0,63}/[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`}
	fieldPattern = lazy.Regexp{Expr: `^[A-Za-z][A-Za-z0-9_.-]{0,63}$`}
)

// checkName reports whether a connection may have that name.
func checkName(name string) error {
	if !namePattern.Get().MatchString(name) {
		return fmt.Errorf("connection %.140q: use engine/NAME, such as postgres/PROD_DB", name)
	}
	return nil
}

// Set sets fields of a connection, which is made if there is none; its other
// fields stay. No error quotes a value.
func (c Connections) Set(name string, fields map[string]string) error {
	if err := checkName(name); err != nil {
		return err
	}
	all := maps.Clone(c[name])
	if all == nil {
		all = map[string]string{}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if err := checkField(field, fields[field]); err != nil {
			return fmt.Errorf("connection %s: %w", name, err)
		}
		all[field] = fields[field]
	}
	changed := maps.Clone(c)
	changed[name] = all
	if err := changed.distinct(); err != nil {
		return err
	}
	c[name] = all
	return nil
}

func checkField(name, value string) error {
	switch {
	case !fieldPattern.Get().MatchString(name):
		return fmt.Errorf("field %.70q: use letters, digits, _, - and ., a letter first", name)
	case value == "":
		return fmt.Errorf("field %s is empty", name)
	case strings.ContainsRune(value, 0) || !utf8.ValidString(value):
		return fmt.Errorf("field %s is not text: it holds a NUL or is not in UTF-8", name)
	case len(value) > maxValue:
		return fmt.Errorf("field %s has more than %d bytes", name, maxValue)
	}
	return nil
}

// distinct reports two fields that would be the same variable.
func (c Connections) distinct() error {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		for _, field := range slices.Sorted(maps.Keys(c[name])) {
			v, what := prefix(name)+upper(field), name+" "+field
			if other, ok := seen[v]; ok {
				return fmt.Errorf("%s and %s would both be the variable %s: name one differently", other, what, v)
			}
			seen[v] = what
		}
	}
	return nil
}

// Variable is a field as a process gets it.
type Variable struct{ Name, Value string }

// Variables are all fields, sorted by name: host of postgres/PROD_DB is
// DS_POSTGRES_PROD_DB__HOST.
func (c Connections) Variables() []Variable {
	var list []Variable
	for name, fields := range c {
		for field, value := range fields {
			list = append(list, Variable{prefix(name) + upper(field), value})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// prefix begins the names of a connection's variables.
func prefix(name string) string { return "DS_" + upper(name) + "__" }

var odd = lazy.Regexp{Expr: `[^A-Z0-9]`}

func upper(s string) string { return odd.Get().ReplaceAllString(strings.ToUpper(s), "_") }

// Grant picks the variables of the connections that are named; of several with
// one name it takes the first. A connection that has none is an error.
func Grant(all []Variable, names []string) ([]Variable, error) {
	var list []Variable
	taken := map[string]bool{}
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
		found := false
		for _, v := range all {
			if !strings.HasPrefix(v.Name, prefix(name)) {
				continue
			}
			if found = true; !taken[v.Name] {
				list = append(list, v)
			}
			taken[v.Name] = true
		}
		if !found {
			return nil, fmt.Errorf("there is no connection %s: set it with: rouse vault set %s field=value", name, name)
		}
	}
	return list, nil
}

// Environ gives variables in the form of [os.Environ].
func Environ(list []Variable) []string {
	var env []string
	for _, v := range list {
		env = append(env, v.Name+"="+v.Value)
	}
	return env
}

// Secrets are the values that must not be shown, by name: each whose name ends in
// PASSWORD, TOKEN, KEY, DSN or another word for a secret, and the passwords inside
// of URLs and of strings such as "host=a password=b". Some may be too short to be
// hidden.
func Secrets(list []Variable) map[string]string {
	hidden := map[string]string{}
	for _, v := range list {
		if secretName.Get().MatchString(v.Name) {
			hidden[v.Name] = v.Value
		}
		if p := inner(v.Value); p != "" && p != v.Value {
			hidden[v.Name+"_PASSWORD"] = p
		}
	}
	return hidden
}

var secretName = lazy.Regexp{Expr: `(?i)(^|_)(password|passwd|passphrase|pwd|pass|token|secret|key|dsn|credentials?)$`}

var dsnPassword = lazy.Regexp{Expr: `(?i)(?:^|[\s;])(?:password|pwd)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s;]+)`}

// inner is the password inside of a value.
func inner(value string) string {
	if u, err := url.Parse(value); err == nil && u.User != nil {
		p, _ := u.User.Password()
		return p
	}
	if m := dsnPassword.Get().FindStringSubmatch(value); m != nil {
		p := strings.TrimSuffix(strings.TrimPrefix(m[1], "'"), "'")
		return strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(p)
	}
	return ""
}
