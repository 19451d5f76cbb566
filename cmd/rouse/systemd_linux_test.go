package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"rouse/internal/sweep"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRealSystemd has a systemd of its own wake a home, as a user without a session, in
// testdata/systemd: what night.sh does there must all go well.
func TestRealSystemd(t *testing.T) {
	if !sweep.Full() {
		t.Skip("a minute has to pass: set ROUSE_SWEEP=full")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can start a systemd")
	}
	for _, program := range []string{"/lib/systemd/systemd", "loginctl", "dbus-daemon", "unshare", "setpriv", "useradd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("it takes systemd, dbus, dbus-user-session and libpam-systemd: ", err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"cgroup", "root"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		"rouse.yaml":  "model: {provider: offline}\n",
		"active.yaml": "current_task: shell command=\"echo $TZ >started; sleep 50\"\n",
	}
	for _, name := range []string{"night.sh", "night.service"} {
		data, err := os.ReadFile(filepath.Join("testdata", "systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "rouse"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	boot := exec.CommandContext(ctx, "sh", "testdata/systemd/boot.sh", dir)
	boot.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	boot.Cancel = func() error { return syscall.Kill(-boot.Process.Pid, syscall.SIGKILL) }
	console, err := boot.CombinedOutput()
	out, _ := os.ReadFile(filepath.Join(dir, "out"))
	switch night := string(out); {
	case strings.HasSuffix(night, "\nthe night is over\n"):
		t.Log("systemd woke the home")
	case !strings.Contains(night, "systemd runs"):
		t.Skipf("no systemd can be started here: %v: %s", err, console)
	default:
		t.Fatalf("%v: %s\n%s", err, night, console)
	}
}
