package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"rouse/agent/budget"
	"rouse/internal/text"
	"rouse/setup"
)

//go:embed templates
var files embed.FS

// templates parses those of pages, each in the frame of all and when it is first shown.
func templates(now func() time.Time) func(name string) (*template.Template, error) {
	var mu sync.Mutex
	parsed := map[string]*template.Template{}
	return func(name string) (*template.Template, error) {
		mu.Lock()
		defer mu.Unlock()
		if t := parsed[name]; t != nil {
			return t, nil
		}
		t, err := template.New("frame.html").Funcs(functions(now)).ParseFS(files, "templates/frame.html", "templates/parts.html", "templates/actions.html", "templates/"+name+".html")
		if err == nil {
			parsed[name] = t
		}
		return t, err
	}
}

// when is a time for people, with its year where that is another than now.
func when(t, now time.Time) string {
	if t.Year() != now.Local().Year() {
		return t.Format("Mon 2 Jan 2006 15:04")
	}
	return t.Format("Mon 2 Jan 15:04")
}

// functions are those that templates have.
func functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"visible": visible,
		"line":    func(n int, s string) string { return text.Line(s, n) },
		"when":    func(t time.Time) string { return when(t.Local(), now()) },
		"stamp":   func(t time.Time) string { return t.Format(time.RFC3339) },
		"money":   money,
		"took":    func(ms int64) string { return took(time.Duration(ms) * time.Millisecond) },
		"home":    homePath,
		"nav":     nav,
		"json":    indented,
		"failed":  failed,
	}
}

// failed says that the cycle of a slot did.
func failed(s setup.Slot) bool { return s.Exit != nil && *s.Exit != 0 }

func money(m budget.Money) string { return fmt.Sprintf("%.4f", float64(m)/1e9) }

// visible is a text of which nothing hides: control, bidirectional and invisible
// characters are written out.
func visible(s string) string { return text.Block(s) }

// indented is JSON for people; what is none stays as it is.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return visible(string(raw))
	}
	return visible(b.String())
}

// frame is what every page shows around itself.
type frame struct {
	Title string
	Home  string // its name, "" for none
	Role  Role
	Path  string // of this page
	Said  string // what the last button did
	Data  any

	visit *visit
}

// show writes a page. It is made whole first, so that an error is never half of one.
func (s *Server) show(w http.ResponseWriter, code int, a sheet, f frame) {
	f.Title, f.Data = a.title, a.data
	var b bytes.Buffer
	t, err := s.templates(a.template)
	if err == nil {
		err = t.Execute(&b, f)
	}
	if err != nil {
		s.Say(text.Line(fmt.Sprintf("show %s: %v", a.template, err), 500))
		http.Error(w, "the page cannot be shown: rouse serve has said why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // whoever left does not hear it
}
