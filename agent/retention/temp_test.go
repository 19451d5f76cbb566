package retention

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Of temporary files those go that nobody changed for a day, however old they say
// they are, and nothing goes that a link leads to.
func TestTemp(t *testing.T) {
	f := newFarm(t)
	f.Temp = f.Home.Temp()
	outside := filepath.Join(f.Home.Dir, "data", "precious")
	for _, path := range []string{outside, filepath.Join(f.Temp, "a"), filepath.Join(f.Temp, "closed", "deep", "b")} {
		f.must(os.MkdirAll(filepath.Dir(path), 0o700))
		f.write(path, "12345", 300*day)
	}
	f.must(os.Symlink(filepath.Dir(outside), filepath.Join(f.Temp, "link")))
	f.must(os.Chmod(filepath.Join(f.Temp, "closed", "deep"), 0o500))
	left := func() (n int) {
		f.must(filepath.WalkDir(f.Temp, func(string, os.DirEntry, error) error { n++; return nil }))
		return n
	}
	apply := func(at time.Time) Removed {
		t.Helper()
		f.must(os.Chtimes(f.marker(), at.Add(-interval), at.Add(-interval)))
		f.Now = func() time.Time { return at }
		r, err := f.Apply(t.Context())
		f.must(err)
		return r
	}
	if r := apply(time.Now().Add(interval - time.Hour)); r.Files != 0 || left() != 6 {
		t.Errorf("a day is not over: removed %+v, %d left", r, left())
	}
	if r := apply(time.Now().Add(interval + time.Hour)); r.Files != 3 || left() > 3 {
		t.Errorf("a day later: removed %+v, %d left", r, left())
	}
	apply(time.Now().Add(3 * interval))
	if apply(time.Now().Add(5 * interval)); left() != 1 {
		t.Errorf("days later %d are left", left())
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	f.must(os.RemoveAll(f.Temp))
	f.must(os.Symlink("data", f.Temp))
	if apply(time.Now().Add(5 * interval)); left() != 1 {
		t.Error("the folder itself is a link, and was followed")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
