package setup

import (
	"os"
	"slices"
	"strings"
	"testing"

	"rouse/home"
	"rouse/internal/vault"
)

// The environment beats .env, an empty variable too, and what .env cannot say is
// not heard. Values that are beaten stay known, to be redacted.
func TestIn(t *testing.T) {
	h, p := home.Home{Dir: t.TempDir()}, Process{Environ: []string{"A=started", "EMPTY=", "ROUSE_HOME=/here"}}
	if got := p.In(h); got.Dotenv.Err != nil || !slices.Equal(got.Environ, p.Environ) || got.Dotenv.Added != nil {
		t.Errorf("without a file: %+v", got)
	}
	text := "A=file\nEMPTY=file\nexport B='x y' # mine\nROUSE_HOME=/there\nROUSE_CHILD=me\nROUSE_FLEET_BY=boss\n"
	if err := os.WriteFile(h.Env(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := p.In(h)
	want := []string{"A=file", "EMPTY=file", "B=x y", "A=started", "EMPTY=", "ROUSE_HOME=/here"}
	if d := got.Dotenv; d.Err != nil || !slices.Equal(got.Environ, want) || !slices.Equal(d.Added, []vault.Variable{{Name: "B", Value: "x y"}}) || len(d.All) != 6 {
		t.Errorf("%+v, %+v", got, *d)
	}
	if got.Getenv("A") != "started" || got.Getenv("B") != "x y" || got.Getenv("EMPTY") != "" {
		t.Errorf("looked up in %q", got.Environ)
	}
	ordered := Process{Environ: []string{ByVariable + "=al\nice"}}
	if by := ordered.In(h).User(); by != `al\nice via fleet` || got.User() == "boss via fleet" {
		t.Errorf("acts as %q, and without an order as %q", by, got.User())
	}
	if err := os.WriteFile(h.Env(), []byte("A=1\nsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(h, p); err == nil || !strings.Contains(err.Error(), ".env: line 2") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
