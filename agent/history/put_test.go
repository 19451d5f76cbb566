package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

// back plans and puts the folder to how it was in a version.
func (r *rig) back(to *Version, paths ...string) (left []Change, err error) {
	r.Helper()
	now, err := r.Look(r.root)
	r.must(err)
	put, left := Plan(now, to, paths)
	return left, r.Put(r.root, put)
}

// first and changed are two states of a folder that differ in all ways.
func (r *rig) first() {
	r.files(map[string]string{"same": "1", "a": "one", "deep/er/b": "two", "empty/": "", "locked/c": "three", "file": "x", "folder/in": "y", "gone": "z"})
	r.must(os.Symlink("a", filepath.Join(r.root, "link")))
	r.must(os.Chmod(filepath.Join(r.root, "a"), 0o751|os.ModeSetuid))
	r.must(os.Chmod(filepath.Join(r.root, "locked"), 0o500))
}

func (r *rig) changed() {
	r.must(os.Chmod(filepath.Join(r.root, "locked"), 0o700))
	for _, path := range []string{"deep", "empty", "file", "folder", "gone", "link", "locked/c"} {
		r.must(os.RemoveAll(filepath.Join(r.root, path)))
	}
	r.files(map[string]string{"a": "another", "new/very/n": "new", "file/in": "in", "folder": "a file", "locked/d": "four"})
	r.must(os.Symlink("/nowhere", filepath.Join(r.root, "link")))
	r.must(os.Symlink("same", filepath.Join(r.root, "gone")))
}

// A folder is put back as it was, and back again, to the byte, mode and time.
func TestPut(t *testing.T) {
	r := newRig(t)
	r.first()
	one, tree := r.take().Version, r.tree()
	r.changed()
	two, other := r.take().Version, r.tree()
	for range 2 {
		if left, err := r.back(one); err != nil || len(left) > 0 || r.tree() != tree {
			t.Fatalf("%v, %v:\n%s\nwant\n%s", left, err, r.tree(), tree)
		}
		if left, err := r.back(two); err != nil || len(left) > 0 || r.tree() != other {
			t.Fatalf("%v, %v:\n%s\nwant\n%s", left, err, r.tree(), other)
		}
	}
	if _, err := r.back(one, "deep/er", "a"); err != nil {
		t.Fatal(err)
	}
	now, err := r.Look(r.root)
	r.must(err)
	if got := fmt.Sprint(paths(Diff(two, now))); got != "[a deep deep/er deep/er/b]" {
		t.Errorf("of two paths are put back %s", got)
	}
}

func paths(list []Change) (names []string) {
	for _, c := range list {
		names = append(names, c.Path)
	}
	return names
}

// What was never kept is not touched, nor the folder that it is in; what somebody
// changed meanwhile is told from what is to be put.
func TestPutLeaves(t *testing.T) {
	r := newRig(t)
	r.files(map[string]string{"a": "one", "b": "two"})
	one := r.take().Version
	r.files(map[string]string{"a": "other", "new/large": strings.Repeat("x", 1<<20+1), "new/small": "y"})
	two := r.take().Version
	left, err := r.back(one)
	if err != nil || fmt.Sprint(paths(left)) != "[new/large]" || !disk.Exists(filepath.Join(r.root, "new/large")) || disk.Exists(filepath.Join(r.root, "new/small")) {
		t.Errorf("%v, %v", left, err)
	}
	r.files(map[string]string{"a": "by a person", "b": "by a person", "c": "by a person"})
	now, err := r.Look(r.root)
	r.must(err)
	put, _ := Plan(now, one, nil)
	if _, changed := Unless(put, two); fmt.Sprint(paths(changed)) != "[a b c]" {
		t.Errorf("%q", paths(changed))
	}
}

// A link that is put in the place of a folder leads nowhere out.
func TestPutStaysInside(t *testing.T) {
	r := newRig(t)
	r.files(map[string]string{"d/a": "one"})
	one := r.take().Version
	r.files(map[string]string{"d/a": "two"})
	now, err := r.Look(r.root)
	r.must(err)
	put, _ := Plan(now, one, nil)
	outside := r.TB.TempDir()
	r.must(os.RemoveAll(filepath.Join(r.root, "d")))
	r.must(os.Symlink(outside, filepath.Join(r.root, "d")))
	err = r.Put(r.root, put)
	if disk.Exists(filepath.Join(outside, "a")) || err == nil {
		t.Errorf("written outside: %v", err)
	}
}

// Whatever fails or wherever it dies: done again, the folder is as it was.
func TestEveryFaultOfPut(t *testing.T) {
	points := disktest.Sweep(t, faults(), func(f *disktest.Faulty) {
		r := newRig(t)
		defer os.RemoveAll(filepath.Dir(r.root))
		r.first()
		one, tree := r.take().Version, r.tree()
		r.changed()
		two := r.take().Version
		r.Workspace = func(d disk.FS) disk.FS { f.FS = d; return f }
		_, err := r.back(one)
		if err == nil && r.tree() != tree {
			t.Fatalf("%v at %q: silent:\n%s", f.Fault, f.Fired(), r.tree())
		}
		r.Workspace = nil
		now, err := r.Look(r.root)
		r.must(err)
		put, _ := Plan(now, one, nil)
		put, changed := Unless(put, two)
		if err := r.Put(r.root, put); err != nil || len(changed) > 0 || r.tree() != tree {
			t.Fatalf("%v at %q: done again: %v, %q\n%s\nwant\n%s", f.Fault, f.Fired(), err, paths(changed), r.tree(), tree)
		}
	})
	t.Logf("not as it was 0 / %d faults", points)
}

// untimed is a tree without times: those of a file that did not change otherwise stay.
func untimed(tree string) string { return regexp.MustCompile(` \d{19} `).ReplaceAllString(tree, " ") }

// Random folders are put back as they were, whichever version.
func TestRandomPut(t *testing.T) {
	r := newRig(t)
	dice := rand.New(rand.NewPCG(1, 2))
	trees, versions, names := []string{}, []*Version{}, []string{"a", "a-", "a\nb", "\xff"}
	for range 12 {
		for range 8 {
			path := filepath.Join(r.root, names[dice.IntN(3)], names[dice.IntN(4)])
			switch dice.IntN(5) {
			case 0:
				_ = os.RemoveAll(path)
			case 1:
				_ = os.RemoveAll(filepath.Dir(path))
			case 2:
				_ = os.MkdirAll(path, 0o700)
			case 3:
				_ = os.MkdirAll(filepath.Dir(path), 0o700)
				_ = os.Symlink(fmt.Sprint(dice.IntN(9)), path)
			default:
				_ = os.MkdirAll(filepath.Dir(path), 0o700)
				_ = os.WriteFile(path, fmt.Append(nil, dice.IntN(9)), os.FileMode(0o600+dice.IntN(8)))
			}
		}
		if got := r.take(); got.Made {
			trees, versions = append(trees, untimed(r.tree())), append(versions, got.Version)
			r.calm(got.Version)
		}
	}
	for range 40 {
		i := dice.IntN(len(trees))
		if left, err := r.back(versions[i]); err != nil || len(left) > 0 || untimed(r.tree()) != trees[i] {
			t.Fatalf("version %d: %v\n%s\nwant\n%s", i, err, r.tree(), trees[i])
		}
	}
}
