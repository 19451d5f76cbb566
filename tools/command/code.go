package command

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// language is a program that runs a text which stands among its arguments. In
// such a text a value is no longer one argument: it can say anything.
type language struct {
	flags   string // letters of the options that bring a text
	long    string // the same, spelled out
	valued  string // letters of other options with a value
	operand bool   // the text is the first operand; a flag only says that there is one
	always  bool   // and it is there without a flag
	late    bool   // options may stand behind operands
	mend    string // how a value gets to the text, by program and parameter
}

// languageOf is the language of a program, whatever its folder and version.
func languageOf(program string) (language, bool) {
	switch strings.TrimRight(path.Base(program), "0123456789.-") {
	case "sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "lksh", "ash", "yash", "fish", "csh", "tcsh":
		return language{flags: "c", long: "--command", valued: "oO", operand: true, mend: `%[1]s -c '… "$1" …' %[1]s {%[2]s}`}, true
	case "awk", "gawk", "mawk", "nawk":
		return language{valued: "Fvf", operand: true, always: true, mend: `%[1]s -v %[2]s={%[2]s} '… %[2]s …'`}, true
	case "python", "pypy":
		return language{flags: "c", valued: "WX", mend: `%[1]s -c '… sys.argv[1] …' {%[2]s}`}, true
	case "perl", "ruby":
		return language{flags: "eE", mend: `%[1]s -e '… ARGV[0] …' -- {%[2]s}`}, true
	case "node", "nodejs":
		return language{flags: "ep", long: "--eval --print", mend: `%[1]s -e '… process.argv[1] …' -- {%[2]s}`}, true
	case "php":
		return language{flags: "rBRE", mend: `%[1]s -r '… $argv[1] …' -- {%[2]s}`}, true
	case "lua", "luajit":
		return language{flags: "e", mend: `%[1]s FILE {%[2]s}`}, true
	case "su", "runuser", "script", "flock":
		return language{flags: "c", long: "--command", late: true, mend: `sh -c '… "$1" …' sh {%[2]s}`}, true
	case "env":
		return language{flags: "S", long: "--split-string", valued: "uC", mend: `%[1]s PROGRAM {%[2]s}`}, true
	}
	return language{}, false
}

// checkCode refuses a parameter inside a text that a shell or another language
// runs, wherever in argv its program stands: env, timeout, docker and many others
// start what their arguments name. A number, and true or false, say nothing there.
func checkCode(argv []string, args []argument, schema *jsonschema.Schema) error {
	for i, element := range argv {
		l, ok := languageOf(element)
		if !ok || args[i].free(schema) != "" {
			continue
		}
		if p := l.inside(argv[i+1:], args[i+1:], schema); p != "" {
			program := path.Base(element)
			return fmt.Errorf("{%s} stands inside the text that %s runs, where a value could run anything; pass it as an argument: %s",
				p, program, fmt.Sprintf(l.mend, program, p))
		}
	}
	return nil
}

// free is the first parameter in an argument that can be any text, or "".
func (a argument) free(schema *jsonschema.Schema) string {
	for _, p := range a.parts {
		if p.parameter && schema.Properties[p.text].Type == "string" {
			return p.text
		}
	}
	return ""
}

// inside is a parameter in the text that is run, or "".
func (l language) inside(argv []string, args []argument, schema *jsonschema.Schema) string {
	code, value, text := l.always, false, false // the operand is the text; what comes now is a value, and is the text
	for i, s := range argv {
		free := args[i].free(schema)
		option, flagged, more := l.option(s)
		switch {
		case value && text && free != "":
			return free
		case value:
			value = false
		case s == "--" && code:
			return args[min(i+1, len(args)-1)].free(schema)
		case !option && l.operand && code:
			return free
		case !option && !l.late, s == "--":
			return ""
		case flagged && free != "":
			return free
		default:
			code, value, text = code || flagged, more, flagged && !l.operand
		}
	}
	return ""
}

// option says of an argument whether it is an option, whether one that brings a
// text, and whether the argument behind it is its value.
func (l language) option(s string) (option, flagged, more bool) {
	if len(s) < 2 || s[0] != '-' && (s[0] != '+' || !l.operand) {
		return false, false, false
	}
	if name, _, attached := strings.Cut(s, "="); strings.HasPrefix(s, "--") {
		flagged = slices.Contains(strings.Fields(l.long), name)
		return true, flagged, flagged && !attached && !l.operand
	}
	last := s[len(s)-1:]
	letters, _, _ := strings.Cut(s[1:], "{")
	flagged = strings.ContainsAny(letters, l.flags) || letters == ""
	return true, flagged, strings.Contains(l.valued, last) || !l.operand && strings.Contains(l.flags, last)
}
