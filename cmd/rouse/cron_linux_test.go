package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"rouse/internal/sweep"
	"strings"
	"testing"
	"time"
)

// TestRealCron has Debian's cron wake a home: install, the minute comes, a cycle
// has run, uninstall. It uses the crontab of root, if that has none.
func TestRealCron(t *testing.T) {
	if !sweep.Full() {
		t.Skip("a minute has to pass: set ROUSE_SWEEP=full")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can start cron")
	}
	for _, program := range []string{"cron", "crontab"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("cron is not installed: ", err)
		}
	}
	if out, err := exec.Command("crontab", "-l").CombinedOutput(); err == nil || !strings.Contains(string(out), "no crontab for") {
		t.Skipf("root has a crontab of its own, or none can be read: %s", out)
	}
	dir := t.TempDir()
	program, home := filepath.Join(dir, "rouse"), filepath.Join(dir, "a 100% home")
	run := func(argv ...string) string {
		t.Helper()
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", argv, err, out)
		}
		return string(out)
	}
	run("go", "build", "-o", program, ".")
	run(program, "init", home)
	config := "model: {provider: offline}\nschedule: '* * * * *'\n"
	if err := os.WriteFile(filepath.Join(home, "rouse.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
	defer cancel()
	daemon := exec.CommandContext(ctx, "cron", "-f")
	if err := daemon.Start(); err != nil {
		t.Skip("cron cannot be started here: ", err)
	}
	defer func() {
		cancel()
		_ = daemon.Wait()
	}()
	run(program, "install", "--home", home)
	defer run("crontab", "-r")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if slots := run(program, "slots", "--home", home); strings.Contains(slots, " ran ") {
			t.Logf("cron woke the home: %s", slots)
			break
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(home, "logs", "due.log"))
			t.Fatalf("cron did not wake the home: %s", log)
		case <-tick.C:
		}
	}
	run(program, "uninstall", "--home", home)
	if tab := run("crontab", "-l"); tab != "" {
		t.Errorf("uninstall left %q", tab)
	}
}
