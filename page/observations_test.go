package page

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/sweep"
	"rouse/scratchpad/observation"
)

// parked puts contents into the store of a home, and gives their ids.
func parked(t testing.TB, folder, name string, write ...func(io.Writer)) (ids []string) {
	t.Helper()
	h, err := home.Open(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	store, err := observation.Open(h.Memory(), observation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	turn, err := store.Begin("20260401_150154", proc.Self())
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range write {
		out := turn.Create(observation.Origin{Step: i + 1, Executor: "shell"})
		w(out)
		e, err := out.Commit(nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

// holds is a content of that.
func holds(s string) func(io.Writer) { return func(w io.Writer) { io.WriteString(w, s) } }

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// TestObservations shows and searches texts, shows pictures, and gives the rest as files.
func TestObservations(t *testing.T) {
	t.Parallel()
	folder := ran(t, "a", 0)
	r := serve(t, folder, View)
	if page := r.get("/h/a/observations"); !strings.Contains(page, "No observation") {
		t.Error(page)
	}
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, "this is line %d\n", i+1)
	}
	svg := `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`
	ids := parked(t, folder, "a", holds(lines.String()), holds(strings.Repeat("é", 300_000)+"the end"), holds(png), holds("\x7fELF\x00\xff"), holds(svg+"\u202e\x1b[2J"))
	for i, want := range map[string][]string{
		"?kind=text": {"Observation", ids[0], ids[1]}, "?cycle=20260401_150154": ids, "?cycle=20200101_000000": {"No observation"}, "?kind=binary": {ids[2], "image/png"},
		"/" + ids[0]:                          {"Lines 1 to 200 of 500", "this is line 200\n</pre>", "?from=201&amp;lines=200", "500 lines"},
		"/" + ids[0] + "?from=401&lines=9000": {"Lines 401 to 500 of 500", "?from=1&amp;lines=5000"},
		"/" + ids[0] + "?find=LINE+42.$":      {`<a href="?from=420">420`},
		"/" + ids[0] + "?find=LINE&case=1":    {"Nothing matches"},
		"/" + ids[0] + "?find=line&after=300": {">300</a>", `after=400`},
		"/" + ids[0] + "?find=(":              {"missing closing )"},
		"/" + ids[1]:                          {"?char=131072"},
		"/" + ids[1] + "?char=299990":         {"Characters 299991 to 300007 of 300007", "éthe end</pre>"},
		"/" + ids[2]:                          {"/observations/" + ids[2] + "/picture\""},
		"/" + ids[3]:                          {"so that it is not shown", "/file\""},
		"/" + ids[4]:                          {`&lt;svg`, `\u202e\u001b[2J`},
	} {
		page := r.get("/h/a/observations" + i)
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s lacks %q: %s", i, w, page)
			}
		}
	}
	for path, want := range map[string]string{
		ids[2] + "/picture": "image/png", ids[2] + "/file": "application/octet-stream", ids[4] + "/file": "application/octet-stream", ids[4] + "/picture": "", "0123456789abcdef": "", "x": "",
	} {
		res, err := r.Get(r.URL + "/h/a/observations/" + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		h := res.Header
		if want == "" {
			if res.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", path, res.Status)
			}
		} else if h.Get("Content-Type") != want || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || len(body) == 0 {
			t.Errorf("%s: %v %q", path, h, body)
		} else if strings.HasSuffix(path, "file") != strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// TestLargeObservation: a page holds little of one, wherever it is opened.
func TestLargeObservation(t *testing.T) {
	size := 64 << 20
	if sweep.Full() {
		size = 1 << 30
	}
	folder := ran(t, "a", 0)
	piece := bytes.Repeat([]byte("one line as any other, of which there are many\n"), 4096)
	id := parked(t, folder, "a", func(w io.Writer) {
		for n := 0; n < size; n += len(piece) {
			w.Write(piece)
		}
		io.WriteString(w, "the last line\n")
	})[0]
	r := serve(t, folder, View)
	r.get("/h/a/observations")
	for path, most := range map[string]uint64{
		"": 16 << 20, fmt.Sprintf("?from=%d", size/47): 16 << 20, "?find=last+line": 32 << 20, "/file": 32 << 20,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := r.Get(r.URL + "/h/a/observations/" + id + path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		runtime.ReadMemStats(&after)
		if err != nil || res.StatusCode != http.StatusOK || path == "/file" && n < int64(size) {
			t.Errorf("%s: %s, %d bytes, %v", path, res.Status, n, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > most {
			t.Errorf("%s took %d KiB of memory, at most %d", path, got>>10, most>>10)
		} else {
			t.Logf("%q: %d KiB", path, got>>10)
		}
	}
}
