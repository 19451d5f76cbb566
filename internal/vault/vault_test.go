package vault

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/sweep"
)

func TestMain(m *testing.M) { disktest.Main(m) }

func in(dir string) Vault {
	return Vault{FS: disk.OS{}, File: filepath.Join(dir, "vault.age"), KeyFile: filepath.Join(dir, "vault.key")}
}

func set(t testing.TB, v Vault, name string, fields map[string]string) {
	t.Helper()
	if err := v.Change(func(c Connections) error { return c.Set(name, fields) }); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, v Vault) Connections {
	t.Helper()
	c, err := v.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRoundTrip(t *testing.T) {
	v := in(t.TempDir())
	if v.Exists() || len(load(t, v)) > 0 {
		t.Error("something is in a vault that is not there")
	}
	many := "line\nline \"é\" '\\"
	set(t, v, "postgres/PROD_DB", map[string]string{"host": "db", "password": "one"})
	set(t, v, "postgres/PROD_DB", map[string]string{"password": "two"})
	set(t, v, "s3/eu-1", map[string]string{"key": many})
	want := Connections{"postgres/PROD_DB": {"host": "db", "password": "two"}, "s3/eu-1": {"key": many}}
	if diff := cmp.Diff(want, load(t, v)); diff != "" || !v.Exists() {
		t.Error(diff)
	}
	for _, path := range []string{v.File, v.KeyFile} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestNothingInClear looks for a value, in the usual forms, in every file that
// the vault leaves, names included.
func TestNothingInClear(t *testing.T) {
	dir, secret := t.TempDir(), rand.Text()
	set(t, in(dir), "postgres/PROD_DB", map[string]string{"password": secret, "host": "needle-host"})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("files %v, %v", entries, err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{secret, secret[:8], base64.StdEncoding.EncodeToString([]byte(secret))[:20],
			hex.EncodeToString([]byte(secret)), "needle", "PROD_DB", "postgres"} {
			if bytes.Contains(data, []byte(form)) {
				t.Errorf("%s holds %s", e.Name(), form)
			}
		}
	}
}

// TestUnreadable: what cannot be read is an error that says why, quotes nothing
// and changes nothing.
func TestUnreadable(t *testing.T) {
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		spoil func(v *Vault, data []byte) error
		want  string
	}{
		{"wrong variable", func(v *Vault, _ []byte) error { v.Key = other.String(); return nil }, "another key than the one in ROUSE_VAULT_KEY"},
		{"wrong file", func(v *Vault, _ []byte) error { return os.WriteFile(v.KeyFile, []byte(other.String()), 0o600) }, "another key than the one in vault.key"},
		{"no key", func(v *Vault, _ []byte) error { return os.Remove(v.KeyFile) }, "the key is missing: put vault.key back"},
		{"bad key", func(v *Vault, _ []byte) error { return os.WriteFile(v.KeyFile, []byte("canary-canary"), 0o600) }, "vault.key does not hold one X25519 identity"},
		{"two keys", func(v *Vault, _ []byte) error {
			return os.WriteFile(v.KeyFile, []byte(other.String()+"\n"+other.String()), 0o600)
		}, "does not hold one X25519 identity"},
		{"open key", func(v *Vault, _ []byte) error { return os.Chmod(v.KeyFile, 0o640) }, "vault.key can be read by others: chmod 600"},
		{"empty", func(v *Vault, _ []byte) error { return os.WriteFile(v.File, nil, 0o600) }, "damaged"},
		{"cut", func(v *Vault, b []byte) error { return os.WriteFile(v.File, b[:len(b)-1], 0o600) }, "damaged"},
		{"flipped", func(v *Vault, b []byte) error { b[len(b)-1] ^= 1; return os.WriteFile(v.File, b, 0o600) }, "damaged"},
		{"longer", func(v *Vault, b []byte) error { return os.WriteFile(v.File, append(b, 0), 0o600) }, "damaged"},
		{"plain", func(v *Vault, _ []byte) error { return os.WriteFile(v.File, []byte(`{"canary-canary":1}`), 0o600) }, "damaged"},
		{"a folder", func(v *Vault, _ []byte) error { return errors.Join(os.Remove(v.File), os.Mkdir(v.File, 0o700)) }, "not a regular file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := in(t.TempDir())
			set(t, v, "a/B", map[string]string{"password": "canary-canary"})
			data, err := os.ReadFile(v.File)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.spoil(&v, data); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(v.File)
			err = v.Change(func(c Connections) error { return c.Set("a/B", map[string]string{"x": "y"}) })
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if after, _ := os.ReadFile(v.File); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

// TestKeyFromEnvironment leaves no key in the home.
func TestKeyFromEnvironment(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	v := in(t.TempDir())
	v.Key = id.String() + "\n"
	set(t, v, "a/B", map[string]string{"password": "p"})
	if _, err := os.Stat(v.KeyFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("key file: %v", err)
	}
	if got := load(t, v)["a/B"]["password"]; got != "p" {
		t.Errorf("password %q", got)
	}
}

// TestFaults makes each operation of a change fail or be the last one, once with
// a vault that is there and once with none: then the old or the new content is
// there, whole and readable, and the next change works.
func TestFaults(t *testing.T) {
	faults := disktest.Faults()
	if !sweep.Full() {
		faults = faults[:9] // the crashes, and one error
	}
	for _, first := range []bool{true, false} {
		met := disktest.Sweep(t, faults, func(f *disktest.Faulty) {
			v := in(t.TempDir())
			old := ""
			if !first {
				old = "old"
				set(t, v, "a/B", map[string]string{"password": old})
			}
			broken := v
			broken.FS = f
			err := broken.Change(func(c Connections) error { return c.Set("a/B", map[string]string{"password": "new"}) })
			got := load(t, v)["a/B"]["password"]
			if got != old && got != "new" || err == nil && got != "new" {
				t.Fatalf("%v: %q after %v", f.Fault, got, err)
			}
			set(t, v, "a/B", map[string]string{"password": "next"})
			if got := load(t, v)["a/B"]["password"]; got != "next" {
				t.Fatalf("%v: then %q", f.Fault, got)
			}
		})
		t.Logf("first change %v: %d faults", first, met)
	}
}

// TestPowerLoss lets the power go at each operation: no vault without its key.
func TestPowerLoss(t *testing.T) {
	lost := 0
	for at := 1; ; at++ {
		dir := t.TempDir()
		p, err := disktest.NewPowerLoss(dir)
		if err != nil {
			t.Fatal(err)
		}
		v, f := in(dir), &disktest.Faulty{FS: p, Fault: disktest.Fault{At: at, Mode: disktest.CrashAfter}}
		v.FS = f
		err = v.Change(func(c Connections) error { return c.Set("a/B", map[string]string{"password": "new"}) })
		for seed := range uint64(10) {
			state := t.TempDir()
			if err := p.Crash(state, seed); err != nil {
				t.Fatal(err)
			}
			if got := load(t, in(state))["a/B"]["password"]; got != "" && got != "new" || err == nil && got != "new" {
				t.Fatalf("operation %d: %q after %v", at, got, err)
			}
			lost++
		}
		if len(f.Fired()) == 0 {
			break
		}
	}
	t.Logf("%d states after a loss of power", lost)
}

// TestTwoAtOnce loses no change of several processes, which each have their own
// view of the file; the kernel's lock is by open file, so goroutines do.
func TestTwoAtOnce(t *testing.T) {
	v := in(t.TempDir())
	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			name := fmt.Sprintf("a/B%d", i)
			if err := v.Change(func(c Connections) error { return c.Set(name, map[string]string{"x": "y"}) }); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := len(load(t, v)); n != 12 {
		t.Errorf("%d connections, want 12", n)
	}
}
