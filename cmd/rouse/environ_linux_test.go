package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"rouse/internal/sweep"
)

// canaryKey is what no child may find.
const canaryKey = "the-key-of-the-test"

// walking writes down the environments of a process's parents, as far as it may read
// them, and who they are.
const walking = `#!/bin/sh
pid=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$$/status)
while [ "$pid" -gt 1 ]; do
	echo "parent $pid $(cat /proc/$pid/comm)"
	cat /proc/$pid/environ
	pid=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$pid/status)
done >FOUND.new 2>/dev/null
mv FOUND.new FOUND
`

// walker is a rig whose children walk.
func walker(t *testing.T, variable string, nobody bool) *rig {
	r := newRig(t)
	r.write("walk", strings.ReplaceAll(walking, "FOUND", r.path("found")))
	if err := os.Chmod(r.path("walk"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("rouse.yaml", fmt.Sprintf(`model: {provider: offline}
schedule: {cron: '@every 1s', task: 'shell command="%[1]s"'}
notebook: {python: %[1]s}
`, r.path("walk")))
	r.write(".mcp.json", fmt.Sprintf(`{"mcpServers": {"walker": {"command": %q}}}`, r.path("walk")))
	if variable != "" {
		r.env = append(r.env, variable+"="+canaryKey)
	}
	if nobody {
		r.asNobody()
	}
	return r
}

// stays runs what stays in the foreground until its child has walked. ready, if
// given, is called with the first line that it prints.
func (r *rig) stays(ready func(line string), args ...string) {
	r.t.Helper()
	cmd, cancel := r.command(args...)
	defer cancel()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	if ready != nil {
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			r.t.Fatal(err)
		}
		ready(line)
	}
	r.await("found")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // 143
}

// served opens a notebook at a server that was started.
func served(t *testing.T, line string) {
	client := newRig(t)
	_, endpoint, _ := strings.Cut(strings.TrimSpace(line), " at ")
	client.write("rouse.yaml", "model: {provider: offline}\nnotebook: {backend: remote, endpoint: '"+endpoint+"', token_env: "+notebookToken+"}\n")
	client.env = []string{notebookToken + "=" + canaryKey}
	client.rouse("notebook", "exec", "sums", "1")
}

// crontab runs the command that install would give to cron, with the key in .env.
func (r *rig) crontab() {
	r.t.Helper()
	r.write(".env", "OPENAI_API_KEY="+canaryKey+"\n")
	if r.user != nil {
		if err := os.Chown(r.path(".env"), int(r.user.Uid), int(r.user.Gid)); err != nil {
			r.t.Fatal(err)
		}
	}
	_, line, ok := strings.Cut(r.rouse("install", "--print", "* * * * *").stdout, "\n* * * * * ")
	line, _, _ = strings.Cut(line, "\n")
	line = strings.Replace(line, "run --due", "run --task 'shell command=\""+r.path("walk")+"\"'", 1) // a minute is long
	cmd, cancel := r.command()
	defer cancel()
	if cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", line}; !ok {
		r.t.Fatal("there is no line for a crontab")
	}
	r.finish(cmd, cmd.Start)
	if found := r.read("found"); strings.Contains(found[strings.LastIndex(found, " rouse\n"):], " sh\n") {
		r.t.Errorf("cron's shell stays above rouse: %q", found)
	}
}

// No child of any verb finds a key in the environment of rouse, or of the rouse
// that started it, be it as the same user or as root. A quick test tries each verb once.
func TestParentsTellNothing(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]struct {
		variable string
		run      func(*rig)
	}{
		"run":           {"OPENAI_API_KEY", func(r *rig) { r.rouse("run", "--task", `shell command="`+r.path("walk")+`"`) }},
		"schedule":      {"OPENAI_API_KEY", func(r *rig) { r.stays(nil, "schedule") }},
		"notebook exec": {"OPENAI_API_KEY", func(r *rig) { r.rouse("notebook", "exec", "sums", "1") }},
		"notebook serve": {notebookToken, func(r *rig) {
			r.stays(func(l string) { served(r.t, l) }, "notebook", "serve", "--listen", "127.0.0.1:0")
		}},
		"mcp list":  {"OPENAI_API_KEY", func(r *rig) { r.rouse("mcp", "list") }},
		"mcp call":  {"OPENAI_API_KEY", func(r *rig) { r.rouse("mcp", "call", "walker", "say") }},
		"mcp proxy": {tokenName, func(r *rig) { r.rouse("mcp", "proxy", "--", r.path("walk")) }},
		"cron":      {"", (*rig).crontab},
		"doctor":    {"OPENAI_API_KEY", func(r *rig) { r.rouse("doctor") }},
	} {
		for user, nobody := range map[string]bool{"": false, " as nobody": true} {
			if nobody != (len(name)%2 == 0) && sweep.Of(true, false, false) {
				continue
			}
			t.Run(name+user, func(t *testing.T) {
				r := walker(t, try.variable, nobody)
				try.run(r)
				found := r.read("found")
				if !strings.Contains(found, " rouse\n") {
					t.Errorf("the child did not meet rouse: %q", found)
				}
				if strings.Contains(found, canaryKey) {
					t.Error("the child found the key")
				}
			})
		}
	}
}
