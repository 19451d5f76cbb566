package command

import (
	"encoding/json"
	"strings"
	"testing"

	"rouse/tools"
)

const parameters = `, parameters: {properties: {p: {type: string}, n: {type: integer}}}}`

// A value never becomes part of a text that a shell or another language runs.
func TestParameterInsideCodeIsRefused(t *testing.T) {
	for _, argv := range []string{
		`[sh, -c, "grep {p} file; head -{n}"]`,
		`[sh, -c, "{p}{n}"]`,
		`[/bin/bash, -lc, "grep '{p}' file{n}"]`,
		`[bash, -euo, pipefail, -c, "echo {p} {n}"]`,
		`[bash, +x, -o, pipefail, -c, --, "echo {p} {n}"]`,
		`[bash, -c, -e, "echo {p} {n}"]`,
		`[dash, "-{p}", "ls {n}"]`,
		`[zsh, -c, "echo {p} {n}"]`,
		`[fish, "--command=echo {p} {n}"]`,
		`[busybox, sh, -c, "echo {p} {n}"]`,
		`[env, -i, A=b, sh, -c, "echo {p} {n}"]`,
		`[env, -S, "echo {p} {n}"]`,
		`[timeout, "5", nice, ksh, -c, "echo {p} {n}"]`,
		`[docker, exec, box, sh, -c, "echo {p} {n}"]`,
		`[su, "-", user, -c, "echo {p} {n}"]`,
		`[flock, /tmp/l, -c, "echo {p} {n}"]`,
		`[python3.12, -c, "print('{p}', {n})"]`,
		`[python3, -W, ignore, -c, "print('{p}', {n})"]`,
		`[perl, -lne, "print if /{p}/ {n}"]`,
		`[perl, "-eprint '{p}', {n}"]`,
		`[ruby, -n, -e, "puts '{p}', {n}"]`,
		`[node, "--eval=f('{p}', {n})"]`,
		`[node, -p, "f('{p}', {n})"]`,
		`[php, -r, "f('{p}', {n});"]`,
		`[awk, "-F:", -v, x=1, "/{p}/ {print ${n}}", file]`,
	} {
		_, err := Tool(spec(t, "{argv: "+argv+parameters), exec(t))
		if err == nil || !strings.Contains(err.Error(), "{p} stands inside the text that") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want a refusal in one line", argv, err)
		}
	}
}

func TestParameterBesideCodeIsTaken(t *testing.T) {
	for _, argv := range []string{
		`[sh, -c, 'grep "$1" file', sh, "{p}", "{n}"]`,
		`[sh, -c, "head -n {n} file", sh, "{p}"]`,
		`[sh, script.sh, -c, "{p}", "{n}"]`,
		`[bash, -o, pipefail, script.sh, "{p}", "{n}"]`,
		`[python3, -c, "import sys", "{p}", "{n}"]`,
		`[python3, tool.py, -c, "{p}", "{n}"]`,
		`[perl, "-I{p}", -e, print, "{n}"]`,
		`[awk, -v, "p={p}", "$0 ~ p {print}", file, "{n}"]`,
		`[env, "A={p}", sort, "-k{n}"]`,
		`[grep, -c, "{p}", "file{n}"]`,
		`[echo, -c, "{p} {n}"]`,
	} {
		if _, err := Tool(spec(t, "{argv: "+argv+parameters), exec(t)); err != nil {
			t.Errorf("%s: %v", argv, err)
		}
	}
}

func TestWholeValueReachesTheShellAsAnArgument(t *testing.T) {
	const declared = `{argv: [sh, -c, 'printf "[%s]" "$1"', sh, "{p}"], parameters: {properties: {p: {type: string}}}}`
	tool, err := Tool(spec(t, declared), exec(t))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := tool.Run(t.Context(), tools.Call{Args: json.RawMessage(`{"p": "$(id); x"}`), Output: &out})
	if got := out.String(); !r.OK || got != "[$(id); x]" {
		t.Errorf("got %q (%s)", got, r.Error)
	}
}
