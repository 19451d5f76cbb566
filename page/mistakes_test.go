package page

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/home"
)

// TestMistakes: what an operator wrote wrongly is said as that, with the file that has it, and never as
// a failure of the server.
func TestMistakes(t *testing.T) {
	t.Parallel()
	folder := many(t, 1, 2)
	h := home.Home{Dir: filepath.Join(folder, "a home 000")}
	r := serve(t, folder, Act)
	newest, err := h.Newest()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{h.Prices(), h.Approvals(), h.Active(), h.Rules(), h.Config()} {
		was, _ := os.ReadFile(path)
		if err := os.WriteFile(path, []byte("\x00: [{"), 0o600); err != nil {
			t.Fatal(err)
		}
		for pattern := range looks() {
			asked := strings.Replace(filled(pattern, "{cycle}", newest), "/h/h", homePath("a home 000"), 1)
			code, text := r.ask(http.MethodGet, asked, nil)
			if code >= 500 {
				t.Errorf("%s, %s: %d %s", filepath.Base(path), asked, code, text)
			}
			if path == h.Config() && strings.HasPrefix(asked, "/h/") && (code != 422 || !strings.Contains(text, "a home 000 cannot be opened</h1>") || !strings.Contains(text, h.Dir+": read rouse.yaml") || strings.Contains(text, "Observations")) {
				t.Errorf("%s: %d %s", asked, code, text)
			}
		}
		if err := os.WriteFile(path, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text := r.get(homePath("a home 000")); strings.Contains(text, "last rewind") || strings.Contains(text, "End the rest") {
		t.Error("buttons are shown that can only fail", text)
	}
}

// TestWhen: a time has its year where that is another.
func TestWhen(t *testing.T) {
	then := time.Date(2027, 2, 17, 6, 1, 0, 0, time.Local)
	for now, want := range map[time.Time]string{then: "Wed 17 Feb 06:01", then.AddDate(0, -3, 0): "Wed 17 Feb 2027 06:01"} {
		if got := when(then, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
