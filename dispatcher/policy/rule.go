package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"rouse/internal/object"
	"rouse/scratchpad/origin"
	"rouse/tools"
)

// Rule is one of the operator's. What it leaves out fits any call.
type Rule struct {
	// Tool and Origin are patterns, in which * stands for anything and ? for one character.
	Tool string `yaml:"tool"`
	// Match are patterns of arguments by name, or /regular expressions/.
	Match  map[string]string `yaml:"match"`
	Effect Effect            `yaml:"effect"`
	Origin string            `yaml:"origin"`
	Do     Do                `yaml:"do"`
	Why    string            `yaml:"why"`
}

// Check says what cannot be meant, by an error that begins with the key.
func (r Rule) Check() error {
	switch {
	case r.Do != Allow && r.Do != Ask && r.Do != Deny:
		return fmt.Errorf("do %q: use allow, ask or deny", r.Do)
	case tools.CheckSaid(string(r.Effect), "") != nil:
		return tools.CheckSaid(string(r.Effect), "")
	case r.Tool == "update_scratchpad" || r.Tool == "done":
		return fmt.Errorf("tool %s: it changes the memory alone, of which no rule is asked; cycle.locked keeps keys of it", r.Tool)
	}
	for name, pattern := range r.Match {
		e, _ := expression(pattern) // else none, which parses
		if _, err := syntax.Parse(e, syntax.Perl); err != nil || pattern == "" {
			return fmt.Errorf("match.%s: %w; write a pattern with *, or a regular expression between two /", name, cmp.Or(err, errors.New("is empty")))
		}
	}
	return nil
}

func (r Rule) why() string {
	return cmp.Or(r.Why, map[Do]string{Allow: "the operator allows it", Ask: "the operator wants to see it first", Deny: "the operator forbids it"}[r.Do])
}

// fit says whether a rule fits a call. One that may fit does where it asks or denies.
type fit int

const (
	no fit = iota
	maybe
	yes
)

// fits says whether a rule fits a call with one of its commands.
func (r Rule) fits(c Call, command simple) fit {
	if r.Tool != "" && !glob(r.Tool, c.Tool, false) || r.Effect != "" && r.Effect != c.Effect || !r.from(c.Origins) {
		return no
	}
	least := yes
	for name, pattern := range r.Match {
		f, given := no, c.given(name)
		switch is := matcher(pattern); {
		case slices.Contains(c.Unseen, name):
			f = maybe
		case c.Tool == "shell" && name == "command":
			if f = command.fit(is, r.Do == Allow); f == no && r.Do != Allow {
				f = command.fit(matcher(optioned(pattern)), false)
			}
		case r.many(given, func(s string) bool { return is(s, false) }):
			f = yes
		}
		least = min(least, f)
	}
	if r.Do == Allow && least == maybe {
		return no
	}
	return least
}

func (r Rule) from(origins origin.Set) bool {
	return r.Origin == "" || r.many(origins, func(name string) bool { return glob(r.Origin, name, false) })
}

// many says whether a rule fits several texts: to be asked or denied one is enough, and
// to be allowed all must fit.
func (r Rule) many(list []string, fits func(string) bool) bool {
	if r.Do != Allow {
		return slices.ContainsFunc(list, fits)
	}
	return len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return !fits(s) })
}

// given are the texts of an argument, each time that it stands there, in whatever case: of
// several nobody knows which one is taken. That of an address has its host as it is asked.
func (c Call) given(name string) (list []string) {
	args, err := object.Parse(c.Args)
	if err != nil {
		return nil // they were checked
	}
	for _, m := range args.Members {
		var v any
		if strings.EqualFold(m.Key, name) && object.Decode(m.Value, &v) == nil {
			list = append(list, leaves(v)...)
		}
	}
	if c.Tool == "http_get" && name == "url" {
		for i, s := range list {
			if u, err := url.Parse(s); err == nil {
				u.Host = strings.ToLower(u.Host)
				list[i] = u.String()
			}
		}
	}
	return list
}

// leaves are the texts in a value.
func leaves(v any) (list []string) {
	switch v := v.(type) {
	case []any:
		for _, below := range v {
			list = append(list, leaves(below)...)
		}
		return list
	case map[string]any:
		return leaves(slices.AppendSeq([]any{}, maps.Values(v)))
	}
	return []string{fmt.Sprint(v)}
}

// matcher is what a pattern fits that [Rule.Check] has seen: texts, and, if they are open,
// those that may go on in any way.
func matcher(pattern string) func(s string, open bool) bool {
	if e, ok := expression(pattern); ok {
		re := regexp.MustCompile("(?s:" + e + ")")
		return func(s string, open bool) bool { return open || re.MatchString(s) }
	}
	return func(s string, open bool) bool { return glob(pattern, s, open) }
}

// expression is what stands between two slashes, "" if a text does not.
func expression(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if e, closed := strings.CutSuffix(rest, "/"); ok && closed {
		return e, true
	}
	return "", false
}

// glob says whether a pattern fits a text in which * stands for anything and ? for one
// character; open says that the text may go on in any way.
func glob(pattern, s string, open bool) bool {
	p, at := []rune(pattern), []rune(s)
	i, star, back := 0, -1, 0
	for j := 0; j < len(at); {
		switch {
		case i < len(p) && p[i] == '*':
			star, back = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == at[j]):
			i, j = i+1, j+1
		case star >= 0:
			back++
			i, j = star+1, back
		default:
			return false
		}
	}
	return open || strings.Trim(string(p[i:]), "*") == ""
}
