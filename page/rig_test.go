package page

import (
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/home"
	"rouse/setup"
)

// rig is a server of homes, with a browser that has logged in.
type rig struct {
	*Server
	*http.Client
	t    testing.TB
	URL  string
	Said []string // to who runs the server
}

// serve shows the homes in a folder.
func serve(t testing.TB, dir string, role Role) *rig {
	t.Helper()
	return serveAt(t, dir, role, time.Now)
}

// serveAt does it at another time.
func serveAt(t testing.TB, dir string, role Role, now func() time.Time) *rig {
	t.Helper()
	r := &rig{t: t}
	r.Server = New(Options{
		Dirs: []string{dir}, Now: now, Open: func(dir string) (*setup.Setup, error) { return openAt(dir, now) }, Say: func(line string) { r.Said = append(r.Said, line) },
		Tokens: map[Role]string{View: "the token of those who look"},
	})
	r.glances.patience = time.Minute // on a busy machine, too
	web := httptest.NewServer(r.Handler())
	t.Cleanup(web.Close)
	r.URL = web.URL
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Client = &http.Client{Jar: jar}
	r.get(r.Link(role))
	return r
}

func open(dir string) (*setup.Setup, error) { return openAt(dir, time.Now) }

func openAt(dir string, now func() time.Time) (*setup.Setup, error) {
	h, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	return setup.Open(h, setup.Process{Now: now, Environ: []string{"PATH=/usr/bin:/bin"}})
}

// get is the page at a path, which must be there.
func (r *rig) get(path string) string {
	r.t.Helper()
	code, text := r.ask(http.MethodGet, path, nil)
	if code != http.StatusOK {
		r.t.Fatalf("GET %s: %d\n%s", path, code, text)
	}
	return text
}

// ask sends a form as this server's own pages do, and follows to where it leads.
func (r *rig) ask(method, path string, form url.Values) (code int, text string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := r.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// ran makes a home in which the demo ran, of which each cycle is a real one without a model.
func ran(t testing.TB, name string, cycles int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	dir := filepath.Join(folder, name)
	p := setup.Process{Now: time.Now, Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + folder}}
	if _, _, err := setup.WriteTemplate(dir, nil, p); err != nil {
		t.Fatal(err)
	}
	for range cycles {
		wake(t, dir)
	}
	return folder
}

// raw sends bytes, as no browser would, and gives the first line of the answer.
func (r *rig) raw(request string) string {
	r.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		r.t.Fatal(err)
	}
	answer, _ := io.ReadAll(io.LimitReader(c, 4096))
	line, _, _ := strings.Cut(string(answer), "\r\n")
	return line
}
