// Package page is what `rouse serve` shows in a browser: homes, their cycles and what
// waits for a person, and the buttons by which one answers.
//
// A request passes three walls before a page sees it: [Server.guard] (is it from this
// machine's own pages), [doors] (who is it, and may they act) and [Server.visit] (which home).
// A page is a function from a [visit] to a [sheet]: it reads the home through package setup
// and the functions behind the verbs, as a verb does, and a template of its own shows that.
// What a page does, it does by POST. Nothing is kept between requests but sessions, and [glances]
// while their files stay as they are, so that the page cannot show what the files do not say, and
// its end costs nothing.
//
// All that an agent wrote is text here: html/template escapes it, no link in it is one, and
// [visible] shows what would hide.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"rouse/agent/telemetry"
	"rouse/setup"
)

// Options say which homes are shown, and to whom.
type Options struct {
	Dirs []string // homes, or folders that hold some
	// Open opens the home in a folder, anew for each request.
	Open func(dir string) (*setup.Setup, error)
	// Program is this program, which runs the cycles that a button starts.
	Program string
	// Hosts are the names by which it may be asked beside those of loopback: those of the
	// proxy before it.
	Hosts []string
	// Secure says that browsers reach it by TLS, through that proxy.
	Secure bool
	// Tokens let people in who cannot see the terminal, by what they may do.
	Tokens map[Role]string
	Now    func() time.Time
	// Say tells who runs the server something, in a line.
	Say func(line string)
	// Fleet, unless nil, has the homes, of which those here are copies.
	Fleet *Fleet
}

// Server shows homes. It is made by New.
type Server struct {
	Options
	doors     *doors
	templates func(name string) (*template.Template, error)
	streams   atomic.Int32 // of events, that are open
	// rebuilding is held while a request is rebuilt.
	rebuilding sync.Mutex
	glances    glances

	metering sync.Mutex
	meters   map[string]*telemetry.Meter // by the folder of the home
}

// New is a server that nobody has logged in to.
func New(o Options) *Server {
	return &Server{
		Options: o, meters: map[string]*telemetry.Meter{}, doors: newDoors(o), templates: templates(o.Now), glances: glances{of: map[string]*kept{}, patience: 60 * time.Millisecond},
	}
}

//go:embed assets
var assets embed.FS

// Handler answers the requests of browsers.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", cached(http.FileServerFS(assets)))
	mux.HandleFunc("GET /login", s.login)
	mux.HandleFunc("POST /login", s.loginByToken)
	mux.HandleFunc("POST /login/link", s.newLink)
	mux.HandleFunc("POST /logout", s.logout)
	if s.Fleet == nil { // whose workers have metrics; what a copy took would be lost
		mux.HandleFunc("GET /metrics", s.sendMetrics)
	}
	s.hooks(mux)
	for pattern, p := range looks() {
		mux.Handle("GET "+pattern, s.visit(View, p))
	}
	for pattern, p := range lives() {
		mux.Handle("GET "+pattern, s.visit(View, p))
	}
	for pattern, p := range acts() {
		if s.Fleet != nil {
			p = ordered(pattern, p)
		}
		mux.Handle("POST "+pattern, s.visit(Act, p))
	}
	mux.Handle("/", s.visit(View, noPage))
	return s.guard(mux)
}

// cached lets browsers keep what only a new program changes.
func cached(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=300")
		h.ServeHTTP(w, r)
	})
}

// noPage answers for an address that no page has.
func noPage(*visit) (sheet, error) {
	return sheet{}, fmt.Errorf("there is no such page: %w", fs.ErrNotExist)
}
