package page

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"rouse/agent/hook"
	"rouse/agent/inbox"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/setup"
)

// hooks are the doors for programs: no session lets them in, but what they sign. One home has
// them at /hooks/NAME; of several each has them at /h/HOME/hooks/NAME.
func (s *Server) hooks(mux *http.ServeMux) {
	for _, at := range []string{"/hooks/{hook}", "/h/{home}/hooks/{hook}"} {
		mux.HandleFunc("POST "+at, s.hooked(s.receive))
		mux.HandleFunc("GET "+at+"/{id}", s.hooked(s.became))
	}
}

// hooked answers a program with JSON: with what became of what it sent, or why not.
func (s *Server) hooked(do func(h *setup.Setup, r *http.Request) (setup.Received, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var got setup.Received
		h, err := s.hookHome(r.PathValue("home"))
		if err == nil {
			got, err = do(h, r)
		}
		code, shown := met(err)
		if code == http.StatusInternalServerError {
			s.Say(text.Line("hook "+r.PathValue("hook")+": "+err.Error(), 500))
		}
		answer(w, code, got, shown)
	}
}

// hookHome is the home of a hook: the only one, where none is named.
func (s *Server) hookHome(name string) (*setup.Setup, error) {
	list, err := s.homes()
	if err == nil && name == "" {
		if len(list) != 1 {
			return nil, fs.ErrNotExist
		}
		return s.open(list[0])
	}
	return s.find(name)
}

// receive takes a task, and begins a cycle if the hook wants that.
func (s *Server) receive(h *setup.Setup, r *http.Request) (setup.Received, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, hook.MaxBody))
	if err != nil {
		return setup.Received{}, wrong{http.StatusRequestEntityTooLarge, errors.New("too large: the limit is 1 MiB")}
	}
	if s.Fleet != nil {
		return s.Fleet.Receive(h, r.PathValue("hook"), r.Header, body)
	}
	got, now, err := h.Receive(r.PathValue("hook"), r.Header, body)
	if err == nil && now {
		s.start(h, got.ID)
	}
	return got, err
}

// became says what became of it: its id is a secret of who sent it.
func (s *Server) became(h *setup.Setup, r *http.Request) (setup.Received, error) {
	if s.Fleet != nil {
		return s.Fleet.Became(h, r.PathValue("hook"), r.PathValue("id"))
	}
	return h.Became(r.PathValue("hook"), r.PathValue("id"))
}

// met is the code of an answer, and the error that whoever asked is told: what is wrong
// with the home is not theirs to know.
func met(err error) (int, error) {
	w, ok := errors.AsType[wrong](err)
	switch {
	case err == nil:
		return http.StatusOK, nil
	case ok:
		return w.code, err
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound, errors.New("there is no such hook, or what it received is kept no longer")
	case errors.Is(err, hook.ErrRefused):
		return http.StatusUnauthorized, err
	case errors.Is(err, hook.ErrTask):
		return http.StatusUnprocessableEntity, err
	case errors.Is(err, setup.ErrOften), errors.Is(err, inbox.ErrFull):
		return http.StatusTooManyRequests, err
	}
	return http.StatusInternalServerError, errors.New("the home cannot take it: rouse serve has said why")
}

// answer answers with JSON. What fails has an error, and text for chats that show that.
func answer(w http.ResponseWriter, code int, got setup.Received, err error) {
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "60")
	}
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	if err != nil {
		_ = enc.Encode(map[string]string{"error": err.Error(), "text": "not taken: " + strings.TrimSpace(err.Error())})
		return
	}
	text := "taken as " + got.ID + ": " + got.State
	if got.Why != "" {
		text = "not taken: " + got.Why
	}
	_ = enc.Encode(struct {
		setup.Received
		Text string `json:"text"`
	}{got, text})
}

// start begins a cycle for a task. Where one is awake, which may be about to sleep, it does
// so after that, unless that one took the task in.
func (s *Server) start(h *setup.Setup, id string) {
	say := func(said string) { s.Say(h.Home.Dir + ": " + said) } // of several homes
	err := h.RunApart(s.Program, say)
	if errors.Is(err, home.ErrAwake) {
		go s.startLater(h, id)
	} else if err != nil {
		say(err.Error())
	}
}

// A cycle that is awake is looked at so often, and for so long.
const (
	askAgain = time.Second
	askFor   = time.Hour
)

func (s *Server) startLater(h *setup.Setup, id string) {
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	for range askFor / askAgain {
		<-tick.C
		if disk.Holder(h.Home.Memory()) != 0 {
			continue
		}
		if waits, err := inbox.Has(h.Home.Inbox(), id); waits && err == nil {
			s.start(h, id)
		}
		return
	}
}
