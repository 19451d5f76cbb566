package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/sweep"
	"rouse/scratchpad/origin"
)

func shell(command string) Call {
	args, _ := json.Marshal(map[string]string{"command": command})
	return Call{Tool: "shell", Args: args, Effect: Outward}
}

// A rule for a command holds wherever that is one of the commands of a line, and wherever
// nobody can tell that it is not.
func TestCommands(t *testing.T) {
	ask := Policy{Rules: []Rule{{Tool: "shell", Match: map[string]string{"command": "git push*"}, Do: Ask}}}
	some := Policy{Rules: []Rule{{Tool: "shell", Match: map[string]string{"command": "ls *"}, Do: Allow}, {Tool: "sh*", Match: map[string]string{"command": `/^git\s/`}, Do: Ask}, {Do: Deny}}}
	for _, row := range []struct {
		policy Policy
		want   Do
		lines  string
	}{
		{ask, Allow, "ls\ngit status\ngit commit -m 'a push; more' -m \"it's\"\ngit -C x status\ngrep 'x$' y\nls -l *.go | wc -l\ncd x && make-it >/dev/null 2>&1\necho \"it's\" \"done\"\ncat ~/notes\ntest -f x || exit 1\nls [a-c]?.txt Größe.md\n\n"},
		{ask, Ask, "git push\n  git \t push origin\nls;git push\nls&&git push\nls|git push\nls & git push\n/usr/bin/git push\n'git' \"push\"\ngit p*\nnice -n 5 git push\ntimeout 5 git push --force 2>&1\ngit push>/dev/null\n" +
			"git -C . push\ngit --no-pager -c a=b push x\nenv git -C x push\ntar cf x y '--checkpoint-action=exec=git push'\nsplit '--filter=g\"\"it push' x\ngit rebase -x \"g'i't push\"\nsocat - 'EXEC:git push'"},
		{ask, Ask, "$(echo git) push\n`echo git` push\ng=git; $g push\ngit pu''sh\ngi\\t push\n{ git push; }\n(git push)\ngit push <x\neval ls\nls <<x\nPATH=. ls\nenv ls\nsudo ls\nls | xargs git\nls | sh\nsh -c 'ls'\nbash x\n. x\nf() { ls; }\n* push\n! ls\n./x\npython3 x.py\nfind . -exec ls {} +\nls # x\nls\r\nsplit '--filter=$(echo git) push' x\nprlimit g?t push\ngo run x.go\ngit -c 'alias.p=push' p\n" + strings.Repeat("a", 9000)},
		{some, Allow, "ls -l\nls *.go\nls a; ls b"},
		{some, Ask, "git log\nls -l && git log"},
		{some, Deny, "rm x\nls -l; rm x\nls $(x)\ngit log; rm x\ngit log $(x)\nls*\nsudo ls\nenv"},
	} {
		for line := range strings.SplitSeq(row.lines, "\n") {
			if d := row.policy.Decide(shell(line)); d.Do != row.want {
				t.Errorf("%.80q: %+v, want %s", line, d, row.want)
			}
		}
	}
}

// The first rule that fits decides, by tool, arguments, effect and origin; the posture
// where none does.
func TestDecide(t *testing.T) {
	both := origin.Set{"http_get a.example", origin.Private}
	get := func(url string) Call {
		return Call{Tool: "http_get", Args: fmt.Appendf(nil, `{"url":%q}`, url), Effect: Outward, Origins: both, Said: func() string {
			return "Read https://named.example/x and README.md, main.tf, ask bob@mail.example, https://a.sh"
		}}
	}
	mail := Call{Tool: "mail__send", Args: json.RawMessage(`{"to":["a@b.example","c@d.example"],"n":25,"task":""}`), Effect: Outward}
	with := func(c Call, change func(*Call)) Call { change(&c); return c }
	match := func(do Do, name, pattern string) []Rule {
		return []Rule{{Tool: "mail__*", Match: map[string]string{name: pattern}, Do: do}, {Do: Deny}}
	}
	unseen := func(c *Call) { c.Unseen = []string{"task"} }
	args := func(text string) func(*Call) { return func(c *Call) { c.Args = json.RawMessage(text) } }
	read := func(c *Call) { c.Origins = both }
	hosts := Policy{Posture: "careful", Hosts: []string{"a.example:8080", "*.b.example"}}
	for i, row := range []struct {
		Policy
		call Call
		do   Do
		rule string
	}{
		{Policy{}, get("http://evil.example/"), Allow, ""},
		{Policy{Rules: []Rule{{Tool: "mail__*", Do: Allow}, {Do: Deny}}}, mail, Allow, "policy[0]"},
		{Policy{Rules: []Rule{{Tool: "mail_?s", Do: Allow}, {Effect: Workspace, Do: Allow}, {Origin: "http_get *", Do: Allow}, {Effect: Outward, Do: Deny}}}, mail, Deny, "policy[3]"},
		{Policy{Rules: match(Ask, "to", "*@d.example")}, mail, Ask, "policy[0]"},
		{Policy{Rules: match(Allow, "to", "*@d.example")}, mail, Deny, "policy[1]"},
		{Policy{Rules: match(Allow, "to", "*.example")}, mail, Allow, "policy[0]"},
		{Policy{Rules: match(Allow, "to", "*.example")}, with(mail, args(`{"to":"e@evil","to":"a@b.example"}`)), Deny, "policy[1]"},
		{Policy{Rules: match(Allow, "to", "*.example")}, with(mail, args(`{"to":"a@b.example","To":"e@evil"}`)), Deny, "policy[1]"},
		{Policy{Rules: []Rule{{Match: map[string]string{"url": "https://evil.example/*"}, Do: Deny}}}, get("HTTPS://Evil.Example/x"), Deny, "policy[0]"},
		{Policy{Rules: match(Ask, "n", "/^2/")}, mail, Ask, "policy[0]"},
		{Policy{Rules: match(Ask, "absent", "*")}, mail, Deny, "policy[1]"},
		{Policy{Rules: match(Ask, "task", "x")[:1]}, with(mail, unseen), Ask, "policy[0]"},
		{Policy{Rules: match(Allow, "task", "*")}, with(mail, unseen), Deny, "policy[1]"},
		{Policy{Rules: []Rule{{Origin: "private", Do: Ask}}}, with(mail, read), Ask, "policy[0]"},
		{Policy{Rules: []Rule{{Origin: "private", Do: Allow}, {Do: Deny}}}, with(mail, read), Deny, "policy[1]"},
		{Policy{Posture: "careful"}, with(mail, func(c *Call) { c.Origins = both[:1] }), Allow, ""},
		{Policy{Posture: "careful"}, with(mail, func(c *Call) { c.Origins = both[1:] }), Allow, ""},
		{Policy{Posture: "careful"}, with(mail, func(c *Call) { c.Origins, c.Effect = both, Workspace }), Allow, ""},
		{Policy{Posture: "careful"}, with(mail, read), Ask, "careful"},
		{Policy{Posture: "strict"}, get("http://evil.example/"), Deny, "strict"},
		{Policy{Posture: "open"}, get("http://evil.example/"), Allow, "open"},
		{hosts, get("http://Named.example/?x"), Allow, ""},
		{hosts, get("http://named.example@evil.example/"), Ask, "careful"},
		{hosts, get("http://x.named.example/"), Ask, "careful"},
		{hosts, get("http://readme.md/?x"), Ask, "careful"},
		{hosts, get("http://main.tf/?x"), Ask, "careful"},
		{hosts, get("http://a.sh/"), Allow, ""},
		{hosts, get("http://mail.example/"), Ask, "careful"},
		{hosts, get("http://a.example/"), Allow, ""},
		{hosts, get("http://c.b.example/"), Allow, ""},
		{hosts, get("http://b.example/"), Ask, "careful"},
	} {
		if d := row.Decide(row.call); d.Do != row.do || d.Rule != row.rule {
			t.Errorf("row %d: %+v, want %s by %s", i, d, row.do, row.rule)
		}
	}
}

// What cannot be meant is said with its key.
func TestCheck(t *testing.T) {
	for want, r := range map[string]Rule{
		"do": {}, "effect": {Do: Ask, Effect: "out"}, "tool done": {Do: Ask, Tool: "done"}, "match.a": {Do: Ask, Match: map[string]string{"a": ""}}, "match.b": {Do: Ask, Match: map[string]string{"b": "/(/"}},
	} {
		if err := r.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, pattern := range []string{"*git*push*", "(", "/(", "(/", "rm *"} { // no expressions
		if err := (Rule{Do: Ask, Match: map[string]string{"command": pattern}}).Check(); err != nil {
			t.Error(err)
		}
	}
}

// FuzzCommands: what really runs git push is asked about. The commands are run, in a
// folder of their own with next to no programs.
func FuzzCommands(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range sweep.Of(400, 5_000, 50_000) {
		data := make([]byte, 1+random.IntN(12))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var line strings.Builder
		for _, b := range data[:min(len(data), 40)] {
			line.WriteString(tokens[int(b)%len(tokens)])
		}
		if pushes(t, line.String()) {
			t.Errorf("%q runs git push and is not asked about", line.String())
		}
	})
}

var tokens = []string{
	"git", "git", "git", "git push", "push", "push", "push", " ", " ", " ", " ", " ", ";", "\n", "|", "||", "&", "&&", "'", "\"", "\\", "$", "`", "(", ")", "{", "}", "<", ">", "*", "?", "[", "]", "~", "=", "#", "!", "%", "^", ":", ".", "./", ",", "-", "\t", "\r", "\x0b", "\u00a0",
	"g", "it", "pu", "sh", "x", "ls ", "nice ", "env ", "xargs ", "sh -c ", "eval ", "exec ", "find push -exec git '{}' +", "printf 'git %s' push", "tee x", "chmod +x x", "./x", "2>&1", "2>/dev/null", "if ", "then ", "fi", "alias g=git", "trap ", "$x", "${x}", "cd ", "-n 1 ", "'git'", "\"push\"", "sed e", "command ",
}

// pushes says whether a command line that is allowed runs git push.
func pushes(t *testing.T, line string) bool {
	ask := Policy{Rules: []Rule{{Tool: "shell", Match: map[string]string{"command": "git push*"}, Do: Ask}}}
	far := strings.NewReplacer("2>/dev/null", "", "./", "").Replace(line)
	if ask.Decide(shell(line)).Do != Allow || !strings.Contains(line, "g") || strings.ContainsAny(far, "/\x00") || strings.Contains(far, "..") || strings.Contains(line, "kill") {
		return false // it is asked, cannot push, or could do harm
	}
	dir := t.TempDir()
	work, bin := filepath.Join(dir, "work"), filepath.Join(dir, "bin")
	git := "#!/bin/sh\n[ \"$1\" = push ] && echo >" + dir + "/pushed\n"
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(bin, 0o700), os.WriteFile(work+"/push", nil, 0o600), os.WriteFile(work+"/git", nil, 0o600), os.WriteFile(bin+"/git", []byte(git), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sh", "env", "nice", "xargs", "find", "ls", "tee", "chmod", "sed"} {
		if path, err := exec.LookPath(name); err == nil {
			_ = os.Symlink(path, filepath.Join(bin, name)) // it may be busybox's own
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Dir, c.Env = work, []string{"PATH=" + bin, "HOME=" + work}
	_ = c.Run() // how it ends does not matter
	_, err := os.Stat(filepath.Join(dir, "pushed"))
	return err == nil
}
