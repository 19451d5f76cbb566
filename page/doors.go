package page

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Role is what somebody may do.
type Role string

// The roles.
const (
	View Role = "view" // look at everything
	Act  Role = "act"  // and press buttons
)

// may says whether somebody with role r may do what needs another.
func (r Role) may(needed Role) bool { return r == needed || r == Act && needed == View }

const (
	sessionLasts = 12 * time.Hour // since its last request
	linkLasts    = 15 * time.Minute
	maxSessions  = 1000
	linkEvery    = 10 * time.Second // that a stranger may ask for one
	maxTries     = 10               // of tokens, by all strangers together
	tryEvery     = 10 * time.Second // that another one is let try
)

// session is somebody who has logged in.
type session struct {
	id   string // short, for the log; not the cookie
	role Role
	seen time.Time
	said string // what the last button did, shown once
}

// doors know who has logged in, by the SHA-256 of their cookie, and the links that let
// somebody in once. It may be used by several goroutines.
type doors struct {
	tokens   map[Role]string
	now      func() time.Time
	mu       sync.Mutex
	sessions map[[32]byte]*session
	links    map[[32]byte]link
	asked    time.Time // when a stranger last asked for a link
	tries    int       // of tokens that were wrong, but for those that time has let off
	tried    time.Time // until when it has
}

type link struct {
	role Role
	ends time.Time
}

func newDoors(o Options) *doors {
	return &doors{tokens: o.Tokens, now: o.Now, sessions: map[[32]byte]*session{}, links: map[[32]byte]link{}}
}

// newLink is the secret of a new link.
func (d *doors) newLink(role Role) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.links, func(_ [32]byte, l link) bool { return d.now().After(l.ends) })
	secret := rand.Text()
	d.links[sha256.Sum256([]byte(secret))] = link{role, d.now().Add(linkLasts)}
	return secret
}

// follow takes a link, which works once, and gives the cookie of a new session.
func (d *doors) follow(secret string) (cookie string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	l, ok := d.links[key]
	delete(d.links, key)
	if !ok || d.now().After(l.ends) {
		return "", false
	}
	return d.begin(l.role), true
}

// known lets somebody in who has a token. Every one is compared, so that time tells nothing.
func (d *doors) known(token string) (cookie string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	given := sha256.Sum256([]byte(token))
	var role Role
	for r, t := range d.tokens {
		want := sha256.Sum256([]byte(t))
		if t != "" && subtle.ConstantTimeCompare(given[:], want[:]) == 1 && (role == "" || r == Act) {
			role = r
		}
	}
	if role == "" {
		return "", false
	}
	d.tries--
	return d.begin(role), true
}

// try says whether a token may be tried now. It counts as wrong until it is right.
func (d *doors) try() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off := d.now().Sub(d.tried) / tryEvery; off > 0 {
		d.tries, d.tried = max(0, d.tries-int(min(off, maxTries))), d.now()
	}
	if d.tries >= maxTries {
		return false
	}
	d.tries++
	return true
}

// begin begins a session; above so many the one that was away longest ends.
func (d *doors) begin(role Role) (cookie string) {
	if len(d.sessions) >= maxSessions {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(d.sessions)), func(a, b [32]byte) int { return d.sessions[a].seen.Compare(d.sessions[b].seen) })
		delete(d.sessions, oldest)
	}
	cookie = rand.Text()
	d.sessions[sha256.Sum256([]byte(cookie))] = &session{id: rand.Text()[:6], role: role, seen: d.now()}
	return cookie
}

// who is a copy of the session of a cookie. What was said is said to it once.
func (d *doors) who(cookie string) (session, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := sha256.Sum256([]byte(cookie))
	s := d.sessions[key]
	if s == nil || d.now().Sub(s.seen) > sessionLasts {
		delete(d.sessions, key)
		return session{}, false
	}
	s.seen = d.now()
	return *s, true
}

// say keeps what a button did for the page that is shown next, and takes that: "" takes it.
func (d *doors) say(cookie, line string) (was string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[sha256.Sum256([]byte(cookie))]; s != nil {
		was, s.said = s.said, line
	}
	return was
}

func (d *doors) end(cookie string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, sha256.Sum256([]byte(cookie)))
}

// patient says whether a stranger may be answered now: not more often than each ten seconds.
func (d *doors) patient() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now().Sub(d.asked) < linkEvery {
		return false
	}
	d.asked = d.now()
	return true
}

// Link is the path that lets somebody in once.
func (s *Server) Link(role Role) string { return "/login?once=" + s.doors.newLink(role) }

// cookieName is that of the session. Browsers share cookies between the ports of a machine,
// and servers of other users must not share theirs.
func (s *Server) cookieName(r *http.Request) string {
	if s.Secure {
		return "__Host-rouse"
	}
	return fmt.Sprintf("rouse-%.4x", sha256.Sum256([]byte(r.Host)))
}

func (s *Server) cookie(r *http.Request) string {
	if c, err := r.Cookie(s.cookieName(r)); err == nil {
		return c.Value
	}
	return ""
}

// login lets somebody in by a link, the one GET that does something, or asks for a token.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	secret := r.URL.Query().Get("once")
	if secret == "" || r.Method != http.MethodGet || r.Header.Get("Sec-Purpose") != "" { // nobody is there yet who follows it
		s.askIn(w, r, http.StatusOK, "")
		return
	}
	cookie, ok := s.doors.follow(secret)
	if !ok {
		s.askIn(w, r, http.StatusForbidden, "This link was used, or is too old.")
		return
	}
	s.enter(w, r, cookie)
}

func (s *Server) loginByToken(w http.ResponseWriter, r *http.Request) {
	if !s.doors.try() {
		s.askIn(w, r, http.StatusTooManyRequests, "Too many tries: wait ten seconds.")
		return
	}
	cookie, ok := s.doors.known(r.PostFormValue("token"))
	if !ok {
		s.askIn(w, r, http.StatusForbidden, "This is not the token.")
		return
	}
	s.enter(w, r, cookie)
}

// newLink prints a link where the server runs: who can see that may act.
func (s *Server) newLink(w http.ResponseWriter, r *http.Request) {
	if s.doors.patient() {
		s.Say("log in once with: " + s.Link(Act))
	}
	s.askIn(w, r, http.StatusOK, "A new link was printed where rouse serve runs. It works once, for 15 minutes.")
}

// enter gives a browser its new session; one that it had ends.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, cookie string) {
	s.doors.end(s.cookie(r))
	s.setCookie(w, r, cookie, 0)
	http.Redirect(w, r, cmp.Or(local(r.FormValue("to")), "/"), http.StatusSeeOther)
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.doors.end(s.cookie(r))
	s.setCookie(w, r, "", -1)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(r), Value: value, MaxAge: age, Path: "/", HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode})
}

// askIn shows how to log in.
func (s *Server) askIn(w http.ResponseWriter, r *http.Request, code int, said string) {
	s.show(w, code, sheet{template: "login", title: "Log in", data: map[string]any{
		"Said": said, "Tokens": len(s.Tokens) > 0, "To": local(r.FormValue("to")),
	}}, frame{})
}
