package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"rouse/home"
	"rouse/internal/killtest"
	"rouse/journal"
)

// On a disk that is full or may not be written all is found all the same, and the
// index takes no room that others need.
func TestFullDisk(t *testing.T) {
	r := newRig(t)
	if err := unix.Mount("tmpfs", r.Home.Logs(), "tmpfs", 0, "size=96k"); err != nil {
		t.Skipf("mount a small disk: %v", err)
	}
	defer unix.Unmount(r.Home.Logs(), unix.MNT_DETACH)
	for n := range 4 {
		var words strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&words, "w%do%d ", i, n)
		}
		r.cycle(n, &journal.Note{Text: words.String()}, &journal.Sleep{})
	}
	look := func(context string) {
		t.Helper()
		f, err := r.Find(t.Context(), Query{Text: "w7o2"})
		if err != nil || len(f.Hits) != 1 || !strings.Contains(f.Note, "without an index") {
			t.Errorf("%s: %+v, %v", context, f, err)
		}
		if _, err := os.Stat(r.Home.Search()); err == nil {
			t.Errorf("%s: an index is left", context)
		}
	}
	look("full")
	r.must(unix.Mount("", r.Home.Logs(), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	look("read-only")
}

// A search that is killed anywhere leaves an index that the next one goes on with.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("SEARCHED"); dir != "" {
		x := Index{Home: home.Home{Dir: dir}}
		if _, err := x.Find(context.Background(), Query{Text: "apples"}); err != nil {
			t.Fatal(err)
		}
		return
	}
	killtest.Sweep(t, 20, func(n int) killtest.Result {
		r := newRig(t)
		for n := range 3 {
			r.cycle(n, &journal.Note{Text: "about apples"}, &journal.Sleep{})
		}
		r.want("apples", "2 note", "1 note", "0 note")
		r.must(os.Remove(r.Home.Journal(r.id(0))))
		r.cycle(4, &journal.Note{Text: "about apples"}, &journal.Sleep{})
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "SEARCHED="+r.Home.Dir)
		res, err := killtest.Run(cmd, n, killtest.Effects)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
			t.Skip(err) // nobody may trace here
		}
		r.must(err)
		r.want("apples", "4 note", "2 note", "1 note")
		return res
	})
}
