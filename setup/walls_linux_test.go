package setup

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/sandbox"
	"rouse/tools"
)

// runShell runs a command with the home's shell.
func runShell(t *testing.T, s *Setup, command string) tools.Result {
	t.Helper()
	set, err := s.Tools()
	if err != nil {
		t.Fatal(err)
	}
	sh, _ := set.Find("shell")
	args, _ := json.Marshal(map[string]string{"command": command})
	return sh.Run(t.Context(), tools.Call{Args: args, Output: io.Discard})
}

// What a probe found is kept as long as it holds. Where it does not after all, the call
// fails, and the next cycle looks anew: nothing runs without the walls.
func TestBrokenBubblewrap(t *testing.T) {
	if !sandbox.Look().Tracing {
		t.Skip("processes cannot be traced here")
	}
	s, person := place(t, "posture: careful")
	bin := filepath.Join(person, "bin")
	bwrap := filepath.Join(bin, "bwrap")
	if err := errors.Join(os.MkdirAll(bin, 0o700), os.Mkdir(s.Home.Logs(), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bwrap, []byte("#!/bin/sh\necho 'bwrap: no such luck' >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Environ = append(s.Environ, "PATH="+bin+":"+os.Getenv("PATH"))
	anew := func() *Setup {
		t.Helper()
		next, err := Open(s.Home, Process{Now: s.Now, Environ: s.Environ})
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	first := anew()
	w, err := first.Walls()
	if err != nil || w.System.Bubblewrap != "" || !strings.Contains(w.Lacks, "no such luck") {
		t.Fatalf("what a probe found: %+v, %v", w, err)
	}
	kept := kept(t, s.Home)
	if err := os.WriteFile(bwrap, []byte("#!/bin/sh\nexit 0\n# another one\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	kept.Key, kept.Lacks = sandbox.Key(bwrap), ""
	text, _ := json.Marshal(kept)
	if err := disk.Overwrite(disk.OS{}, s.Home.Machine(), text, 0o600); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(s.Home.Folder("workspace"), "mark")
	r := runShell(t, anew(), "touch mark")
	if r.OK || !strings.Contains(r.Error, "sandbox: ") || disk.Exists(mark) || disk.Exists(s.Home.Machine()) {
		t.Errorf("the call: %+v; run %v, kept %v", r, disk.Exists(mark), disk.Exists(s.Home.Machine()))
	}
	if w, err := anew().Walls(); err != nil || w.Lacks == "" {
		t.Errorf("the next cycle: %+v, %v", w, err)
	}
}

func kept(t *testing.T, h home.Home) (f found) {
	t.Helper()
	data, err := os.ReadFile(h.Machine())
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A process that met a limit of the sandbox says which.
func TestLimitsOfASandbox(t *testing.T) {
	s, _ := place(t, "posture: careful\nsandbox: {cpu: 1s, file_size: 1MiB}")
	if w, err := s.Walls(); err != nil || !w.System.Confines() {
		t.Skip("nothing can confine a process here", err)
	}
	for command, want := range map[string]string{
		"while :; do :; done":                          "the sandbox refused: limit cpu",
		"head -c 3000000 /dev/zero >big; test -e none": "",
		"exec head -c 3000000 /dev/zero >big":          "the sandbox refused: limit file_size",
	} {
		if r := runShell(t, s, command); r.OK || !strings.Contains(r.Error, want) || want == "" && len(r.Refused) > 0 {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

// Homes beside this one, those of the user and those that timers wake are hidden, and
// looked for anew where something shows.
func TestOtherHomes(t *testing.T) {
	s, person := place(t, "posture: careful")
	long := s.Now().Add(-time.Hour) // times of files have ticks
	far := filepath.Join(home.Resolved(t.TempDir()), "far")
	units := filepath.Join(person, ".config", "systemd", "user")
	if err := errors.Join(os.Mkdir(s.Home.Logs(), 0o700), os.Mkdir(far, 0o700), os.WriteFile(filepath.Join(far, "rules.md"), []byte("x"), 0o600), os.MkdirAll(units, 0o700), os.Chtimes(units, long, long)); err != nil {
		t.Fatal(err)
	}
	hidden := func() []string {
		t.Helper()
		next, err := Open(s.Home, Process{Now: s.Now, Environ: s.Environ})
		if err != nil {
			t.Fatal(err)
		}
		return next.machine().homes
	}
	other := filepath.Join(person, "other")
	if got := hidden(); !slices.Equal(got, []string{other}) {
		t.Errorf("at first: %q", got)
	}
	if got := kept(t, s.Home).Homes; !slices.Equal(got, []string{other}) {
		t.Errorf("kept: %q", got)
	}
	unit := InUnit + far + "; removed by rouse uninstall.\n[Service]\n"
	if err := os.WriteFile(filepath.Join(units, "rouse-far.service"), []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := hidden(); len(got) != 2 || !slices.Contains(got, far) {
		t.Errorf("with a timer: %q", got)
	}
}
