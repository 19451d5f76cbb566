// Package serve runs notebooks for others, over HTTP: what it says is in package
// wire, what answers on the other side is package remote.
//
// Each token belongs to a tenant, who has notebooks of its own in a folder of its
// own and cannot name those of another. That is a wall in this server, not in the
// machine: the cells of all tenants run as the server's user. Tenants who must
// not be able to read each other's files need a server each.
package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"rouse/internal/disk"
	"rouse/tools/notebook"
	"rouse/tools/notebook/wire"
)

// Place is what the runtime of a notebook is opened with.
type Place struct {
	Tenant, Name string
	// Dir is the notebook's own folder, which is there.
	Dir string
	// Env and Secret are the client's, as in [wire.Job].
	Env, Secret []string
	// LLM asks the client.
	LLM notebook.LLM
}

// Server runs notebooks. Set the fields before the first use.
type Server struct {
	// Dir is the folder of all notebooks: each is in one of its tenant's there.
	Dir string
	FS  disk.FS
	// Tokens are those of the tenants, by tenant.
	Tokens map[string]string
	// Open makes the runtime of a notebook.
	Open func(Place) (notebook.Runtime, error)
	// Version is told to clients.
	Version string
	// Grace is how long a job goes on that nobody listens to; default 2 minutes.
	Grace time.Duration
	// Keep is how long a notebook stays open that nobody uses; then it is closed,
	// and its variables are saved. Default 30 minutes.
	Keep time.Duration
	// Ping is the time between signs of life on a stream; default 10 seconds.
	Ping time.Duration
	// MaxNotebooks is how many each tenant may have open; default 16. As many more
	// may be closed with events that are kept for their client.
	MaxNotebooks int
	// MaxKept is how many folders of notebooks a tenant may have before it can
	// make no more; default 1000.
	MaxKept int

	once     sync.Once
	instance string
	ctx      context.Context // of all jobs
	stop     context.CancelFunc
	jobs     sync.WaitGroup

	begins sync.Mutex // one job is admitted and begun at a time

	mu     sync.Mutex
	open   map[place]*entry
	early  []early // the oldest first
	closed bool
}

// place names a notebook.
type place struct{ tenant, name string }

// bodyTime is how long a client may take to send a body.
const bodyTime = time.Minute

// MinToken is the least length of a token.
const MinToken = 16

func (s *Server) begin() {
	s.FS = disk.Or(s.FS)
	s.Grace = cmp.Or(max(s.Grace, 0), 2*time.Minute)
	s.Keep = cmp.Or(max(s.Keep, 0), 30*time.Minute)
	s.Ping = cmp.Or(max(s.Ping, 0), 10*time.Second)
	s.MaxNotebooks = cmp.Or(max(s.MaxNotebooks, 0), 16)
	s.MaxKept = cmp.Or(max(s.MaxKept, 0), 1000)
	s.instance, s.open = rand.Text(), map[place]*entry{}
	s.ctx, s.stop = context.WithCancel(context.Background())
}

// Lock takes the folder of all notebooks for this process, until it ends or
// calls what it gets.
func (s *Server) Lock() (unlock func(), err error) {
	s.once.Do(s.begin)
	if err := s.FS.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err = disk.LockFolder(context.Background(), s.Dir, 0)
	if errors.Is(err, disk.ErrHeld) {
		err = fmt.Errorf("%s is in use by another server", s.Dir)
	}
	return unlock, err
}

// Check reports what is wrong with the tenants and their tokens.
func (s *Server) Check() error {
	if len(s.Tokens) == 0 {
		return errors.New("there is no token")
	}
	seen := map[string]string{}
	for tenant, token := range s.Tokens {
		switch other, twice := seen[token]; {
		case notebook.CheckName(tenant) != nil:
			return fmt.Errorf("tenant %.80q: use 1 to 64 of a-z, 0-9, _ and -, a letter or digit first", tenant)
		case len(token) < MinToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
			return fmt.Errorf("the token of %s: use at least %d printable characters", tenant, MinToken)
		case twice:
			return fmt.Errorf("%s and %s have the same token", min(tenant, other), max(tenant, other))
		}
		seen[token] = tenant
	}
	return nil
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	s.once.Do(s.begin)
	mux := http.NewServeMux()
	handle := func(pattern string, f func(http.ResponseWriter, *http.Request, string)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { f(w, r, r.Header.Get(tenantHeader)) })
	}
	handle("GET /v1/info", s.info)
	handle("POST /v1/notebooks/{name}/cancel", s.cancel)
	handle("POST /v1/notebooks/{name}/{action}", s.post)
	handle("GET /v1/notebooks/{name}/cells/{id}", s.get)
	handle("POST /v1/notebooks/{name}/cells/{id}/answers/{number}", s.answer)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound, "there is nothing here") })
	return s.guard(mux)
}

// tenantHeader carries the tenant from the guard to the handlers.
const tenantHeader = "Rouse-Tenant"

// guard lets in who has a token, bounds what is read, and names this run.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		tenant, ok := s.tenant(r.Header.Get("Authorization"))
		if !ok {
			h.Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "the token is missing or wrong")
			return
		}
		h.Set(wire.Instance, s.instance)
		if want := r.Header.Get(wire.Instance); want != "" && want != s.instance {
			fail(w, http.StatusConflict, "the server was restarted")
			return
		}
		r.Header.Set(tenantHeader, tenant)
		r.Body = http.MaxBytesReader(w, r.Body, wire.MaxBody)
		next.ServeHTTP(w, r)
	})
}

// tenant is whose token it is. How long it takes tells nothing of the tokens.
func (s *Server) tenant(header string) (string, bool) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	given := sha256.Sum256([]byte(token))
	found, ok := "", false
	for tenant, token := range s.Tokens {
		want := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 && len(token) >= MinToken {
			found, ok = tenant, true
		}
	}
	return found, ok
}

func (s *Server) info(w http.ResponseWriter, _ *http.Request, tenant string) {
	reply(w, http.StatusOK, wire.Info{Version: s.Version, Protocol: wire.Protocol, Tenant: tenant})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // a client that is gone is gone
}

func fail(w http.ResponseWriter, status int, text string) {
	reply(w, status, wire.Error{Error: text})
}

// body reads the body of a request, and answers itself if it is no good.
func body(w http.ResponseWriter, r *http.Request, v any) bool {
	in := http.NewResponseController(w)
	in.SetReadDeadline(time.Now().Add(bodyTime))
	d := json.NewDecoder(r.Body)
	err := d.Decode(v)
	if err == nil {
		_, err = d.Token()
	}
	in.SetReadDeadline(time.Time{}) // the answer may take long
	switch {
	case errors.Is(err, io.EOF):
		return true
	case errors.As(err, new(*http.MaxBytesError)):
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", wire.MaxBody))
	default:
		fail(w, http.StatusBadRequest, "the body is not one JSON object as it should be")
	}
	return false
}

// Close interrupts all jobs, and closes all notebooks, which saves their
// variables unless ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.once.Do(s.begin)
	s.mu.Lock()
	s.closed = true
	all := s.open
	s.open = map[place]*entry{}
	s.mu.Unlock()
	s.stop()
	s.jobs.Wait()
	var wait sync.WaitGroup
	errs := make([]error, len(all))
	for i, n := range slices.Collect(maps.Values(all)) {
		wait.Go(func() {
			if err := n.close(ctx); err != nil {
				errs[i] = fmt.Errorf("close notebook %s of %s: %w", n.at.name, n.at.tenant, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
