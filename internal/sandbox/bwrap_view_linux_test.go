package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A working folder that is named by a link which is not inside is the one that it leads
// to.
func TestFolder(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, temp, link := filepath.Join(top, "work"), filepath.Join(top, "temp"), filepath.Join(top, "link")
	for _, dir := range []string{work, temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("work", link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		policy    Policy
		dir, want string
	}{
		{Policy{Write: []string{work}}, work, work},
		{Policy{Write: []string{work}}, link, work},
		{Policy{Write: []string{link}}, link, link},
		{Policy{Read: []string{top}}, link, link},
		{Policy{Write: []string{work}}, top, ""},
	} {
		if got, err := tt.policy.view().folder(tt.dir); got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v: %s is %q, %v", tt.policy, tt.dir, got, err)
		}
	}
}
