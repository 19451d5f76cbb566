package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"rouse/fleet/dev"
	"rouse/fleet/dev/devtest"
	"rouse/fleet/store"
	"rouse/home"
	"rouse/internal/disk"
)

func TestMain(m *testing.M) {
	testscript.Main(devtest.M{M: m}, map[string]func(){"rouse-fleet": main})
}

// build makes the rouse of the parent, for which there is a folder of programs.
func build(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	if out, err := in("../../..", "go", "build", "-o", bin, "./cmd/rouse"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// TestScript is what a user does, and what goes wrong: each script has a database.
func TestScript(t *testing.T) {
	bin := build(t)
	temporal, _ := dev.FindTemporal()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+":"+e.Getenv("PATH"))
			e.Setenv("ROUSE_FLEET_DSN", devtest.Database(e.T().(testing.TB)))
			e.Setenv("ROUSE_SWEEP", os.Getenv("ROUSE_SWEEP"))
			e.Setenv("ROUSE_FLEET_TEMPORAL", temporal)
			return nil
		},
		Condition: func(what string) (bool, error) {
			return what == "s3" && devtest.Gateway() != "" || what == "temporal" && temporal != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bucket": func(ts *testscript.TestScript, neg bool, args []string) {
				url, dir := devtest.Bucket(t)
				for name, value := range map[string]string{"S3": url, "DIR": dir, "AWS_ACCESS_KEY_ID": devtest.Key, "AWS_SECRET_ACCESS_KEY": devtest.Secret} {
					ts.Setenv(name, value)
				}
			},
			"model": model, "wake": wake,
			"visit":  visit,
			"awake":  func(ts *testscript.TestScript, _ bool, args []string) { hold(ts, args[0], time.Hour) },
			"asleep": func(ts *testscript.TestScript, _ bool, args []string) { hold(ts, args[0], 0) },
			"same": func(ts *testscript.TestScript, neg bool, args []string) {
				if a, b := tree(ts.MkAbs(args[0])), tree(ts.MkAbs(args[1])); a != b {
					ts.Fatalf("%s", gocmp.Diff(a, b))
				}
			},
		},
	})
}

// visit has the worker a visit a home, once something is ordered there.
func visit(ts *testscript.TestScript, neg bool, args []string) {
	ctx := context.Background()
	s, err := store.Open(ctx, ts.Getenv("ROUSE_FLEET_DSN"))
	ts.Check(err)
	defer s.Close()
	_, err = s.Beat(ctx, store.Worker{Name: "a"})
	ts.Check(err)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if all, err := s.Ordered(ctx); err != nil || len(all) > 0 {
			ts.Check(err)
			break
		}
	}
	wake(ts, neg, args)
}

// hold has the worker a take a home for a time, or with 0 let it go.
func hold(ts *testscript.TestScript, name string, ttl time.Duration) {
	ctx := context.Background()
	s, err := store.Open(ctx, ts.Getenv("ROUSE_FLEET_DSN"))
	ts.Check(err)
	defer s.Close()
	h, err := s.Home(ctx, name)
	l := store.Lease{Home: h.ID, Epoch: h.Epoch}
	if err == nil && ttl > 0 {
		_, err = s.Acquire(ctx, name, "a", ttl, false)
	} else if err == nil {
		err = s.Commit(ctx, l, store.Version{})
	}
	ts.Check(err)
}

// tree is all that is in a home but what never leaves a machine: kinds, modes, times and
// contents, but for the times of what a push itself writes into: two folders, and the mark.
func tree(dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		info, gone := os.Lstat(path)
		if err != nil || gone != nil || rel == "." || (home.Home{}).Stays(filepath.ToSlash(rel)) || info.Mode()&fs.ModeType&^fs.ModeDir&^fs.ModeSymlink != 0 {
			return err
		}
		when := info.ModTime().UnixNano()
		if slices.Contains([]string{"logs", "scratchpad", "scratchpad/version"}, rel) {
			when = 0
		}
		content, _ := os.ReadFile(path)
		to, _ := os.Readlink(path)
		fmt.Fprintf(&b, "%q %v %d %q %.200q %d\n", rel, info.Mode(), when, to, content, len(content))
		return nil
	})
	return b.String()
}

// TestKilled: pushes and pulls are killed at random moments, until one ends. The folder wakes
// or is marked, never by half, and in the end it is what it was, with nothing left beside it.
func TestKilled(t *testing.T) {
	t.Setenv("ROUSE_FLEET_DSN", devtest.Database(t))
	h := home.Home{Dir: filepath.Join(t.TempDir(), "moon")}
	setup := "rouse-fleet migrate && mkdir -p moon/workspace/a moon/scratchpad && cd moon && echo 2 | tee scratchpad/version workspace/a/b .env rules.md"
	if out, err := in(filepath.Dir(h.Dir), "sh", "-c", setup); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	kills := 0
	for round := range 4 {
		err := cmp.Or(h.MakeFolders(disk.OS{}), os.WriteFile(filepath.Join(h.Dir, "workspace/big"), make([]byte, round<<20+1), 0o600))
		_, none := h.MakeKey(disk.OS{}) // which a first push would
		err = cmp.Or(err, none)
		was := tree(h.Dir)
		for _, verb := range []string{"push", "pull"} {
			for tries := 15; err == nil; tries-- {
				within := time.Hour
				if tries > 0 {
					within = rand.N(60 * time.Millisecond)
				}
				out, failed := in(filepath.Dir(h.Dir), "timeout", "-s", "KILL", fmt.Sprint(within.Seconds()), "rouse-fleet", verb, "moon")
				if failed == nil || strings.Contains(out, "in the fleet already") {
					break
				}
				if kills++; !strings.Contains(failed.Error(), "killed") {
					t.Fatalf("%s after kills: %v: %s", verb, failed, out)
				}
			}
			if (h.Marked() != "") != (verb == "push") {
				t.Fatalf("%s, and the mark is %q", verb, h.Marked())
			}
		}
		left, _ := filepath.Glob(filepath.Dir(h.Dir) + "/.*")
		if diff := gocmp.Diff(was, tree(h.Dir)); err != nil || diff != "" || len(left) > 0 || !disk.Exists(h.Env()) {
			t.Fatalf("round %d: %v: left %q: %s", round, err, left, diff)
		}
	}
	t.Logf("%d were killed", kills)
}

func in(dir string, argv ...string) (string, error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}
