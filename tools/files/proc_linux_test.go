package files

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"rouse/tools"
)

// The magic links of /proc lead anywhere, and its files say that they are empty.
func TestProc(t *testing.T) {
	f := Folder{Workspace: t.TempDir(), Roots: []string{"/proc"}, Limit: 1 << 16}
	secret := f.Workspace + "-secret"
	put(t, secret, "SECRET")
	t.Cleanup(func() { os.Remove(secret) })
	open, err := os.Open(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, p := range []string{
		"/proc/self/root/etc/passwd", "/proc/self/cwd/files_test.go", "/proc/self/exe",
		fmt.Sprintf("/proc/self/fd/%d", open.Fd()),
		fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), open.Fd()),
		"/proc/self/task/../root/etc/passwd", "/proc/thread-self/root" + secret,
	} {
		r, got := call(t, f, "read_file", map[string]any{"path": p})
		if r.OK || got != "" || !strings.Contains(r.Error, "outside") {
			t.Errorf("%s: %+v, %q", p, r, got)
		}
	}
	r, got := call(t, f, "read_file", map[string]any{"path": "/proc/self/status"})
	if !r.OK || !strings.Contains(got, "Name:") {
		t.Errorf("a file of size 0 with content: %+v, %q", r, got)
	}
	// /proc/self/mem says 0 and is the whole address space.
	if r, got := call(t, f, "read_file", map[string]any{"path": "/proc/self/mem"}); r.OK && len(got) > 1<<16+200 {
		t.Errorf("mem: %+v", r.Metadata)
	}
}

// A file that never ends, and never gives anything, ends with the call.
func TestReadEndsWithContext(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("/proc/kmsg, which blocks, is for root")
	}
	f := Folder{Workspace: t.TempDir(), Roots: []string{"/proc"}, Limit: 1 << 40}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	args, _ := json.Marshal(map[string]any{"path": "/proc/kmsg"})
	var out bytes.Buffer
	r := f.Tools()[0].Run(ctx, tools.Call{Args: args, Output: &out})
	if r.OK {
		t.Errorf("%+v", r)
	}
}
