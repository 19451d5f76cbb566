package page

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rouse/internal/sweep"
)

// TestNotebooks shows cells: their texts as text, their pictures and tables where they can do nothing.
func TestNotebooks(t *testing.T) {
	t.Parallel()
	folder := ran(t, "a", 0)
	r := serve(t, folder, Act)
	if page := r.get("/h/a/notebooks"); !strings.Contains(page, "no notebooks yet") {
		t.Error(page)
	}
	var cells strings.Builder
	for n := range 30 {
		fmt.Fprintf(&cells, `{"id":"c%d","number":%[1]d,"code":"print(%[1]d)","stdout":"<script>alert(%[1]d)</script>","ended":"ok"}`+"\n", n+1)
	}
	drawn := base64.StdEncoding.EncodeToString([]byte(png))
	fmt.Fprintf(&cells, `{"number":31,"code":"t","value":"t","html":"<table><tr><td onclick='x()'>1</table>","pictures":[{"type":"image/png","data":%q},{"type":"image/png","data":"PHN2Zz4="}],"ended":"error","error":"Traceback\nValueError: \u001b[2J"}`+"\n", drawn)
	write(t, filepath.Join(folder, "a", "notebooks", "sales", "cells.jsonl"), cells.String()+"half a li")
	write(t, filepath.Join(folder, "a", "notebooks", "broken", "cells.jsonl", "x"), "a folder where cells should be")
	at := "/h/a/notebooks"
	for path, want := range map[string][]string{
		"":                 {`href="/h/a/notebooks/sales">sales</a></td><td class="number">31`, "broken: read cells", "<textarea"},
		"/sales":           {`id="cell-31"`, `ValueError: \u001b[2J`, `src="/h/a/notebooks/sales/31/table"`, "<iframe sandbox ", "/sales/31/picture/0", "&lt;script&gt;alert(22)", "?before=22"},
		"/broken":          {"No cell can be shown", "is not a regular file"},
		"/sales?before=22": {`id="cell-21"`, "?before=12"},
		"/sales/31/table":  {"<table><tr><td onclick"},
	} {
		page := r.get(at + path)
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s lacks %q: %s", path, w, page)
			}
		}
		if strings.Contains(page, "<script>") {
			t.Errorf("%s: %s", path, page)
		}
	}
	for path, want := range map[string]string{
		"/sales/31/table": "text/html; charset=utf-8", "/sales/31/picture/0": "image/png", "/sales/31/picture/1": "", "/sales/31/picture/2": "", "/sales/31/picture/-1": "", "/sales/32/table": "", "/none/1/table": "", "/none": "", "/..%2f..": "",
	} {
		res, err := r.Get(r.URL + at + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		switch csp := res.Header.Get("Content-Security-Policy"); {
		case want == "" && res.StatusCode != http.StatusNotFound:
			t.Errorf("%s: %s", path, res.Status)
		case want != "" && (res.Header.Get("Content-Type") != want || !strings.HasPrefix(csp, "default-src 'none'; style-src 'unsafe-inline';") || !strings.HasSuffix(csp, "; sandbox")):
			t.Errorf("%s: %v", path, res.Header)
		}
	}
}

// TestRunCell runs a cell by a button, unless one may only look or somebody else has the notebook.
func TestRunCell(t *testing.T) {
	t.Parallel()
	folder := ran(t, "a", 0)
	r := serve(t, folder, Act)
	post := func(name, code string) (int, string) {
		return r.ask(http.MethodPost, "/h/a/notebooks", url.Values{"name": {name}, "code": {code}})
	}
	if sweep.Of(false, true, true) { // Python's environment takes seconds
		code, page := post("x", "class T:\r\n  def _repr_html_(self): return '<table>'\r\nprint(6*7)\r\nT()")
		for _, want := range []string{"cell 1 ran: ok", ">42</pre>", "<iframe"} {
			if code != http.StatusOK || !strings.Contains(page, want) {
				t.Errorf("%d, without %s: %s", code, want, page)
			}
		}
	}
	config := filepath.Join(folder, "a", "rouse.yaml")
	was, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, string(was)+"\nnotebook: {before: [\"false\"]}\n")
	if code, page := post("x", "1"); code != http.StatusConflict || !strings.Contains(page, "the cell was not run: notebook.before") {
		t.Errorf("%d %s", code, page)
	}
	for name, code := range map[string]string{"x": " \r\n", "../x": "1", "": "1"} {
		if code, page := post(name, code); code != http.StatusConflict {
			t.Errorf("%q: %d %s", name, code, page)
		}
	}
	looker := serve(t, folder, View)
	if code, _ := looker.ask(http.MethodPost, "/h/a/notebooks", url.Values{"name": {"x"}, "code": {"1"}}); code != http.StatusForbidden {
		t.Errorf("who may look: %d", code)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
