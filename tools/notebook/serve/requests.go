package serve

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rouse/internal/lazy"
	"rouse/tools/notebook"
	"rouse/tools/notebook/wire"
)

var idPattern = lazy.Regexp{Expr: `^[A-Za-z0-9_-]{16,64}$`}

var actions = []string{wire.Start, wire.Execute, wire.Install, wire.Reset, wire.Close, wire.Remove}

// post begins a job and follows it.
func (s *Server) post(w http.ResponseWriter, r *http.Request, tenant string) {
	action := r.PathValue("action")
	var want wire.Job
	if !slices.Contains(actions, action) {
		fail(w, http.StatusNotFound, "there is no such action")
		return
	}
	if !body(w, r, &want) {
		return
	}
	if err := checkJob(r.PathValue("name"), want); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	at := place{tenant, r.PathValue("name")}
	switch j, err := s.job(at, action, want); {
	case errors.Is(err, errCanceled):
		say(w, wire.EventCell, canceled)
	case j == nil && err == nil:
		say(w, wire.EventDone, wire.Done{})
	default:
		s.follow(w, r, j, err)
	}
}

// say is a stream of one event.
func say(w http.ResponseWriter, event string, v any) {
	b, err := wire.Encode(0, event, v)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Write(b) // a client that is gone is gone
}

func checkJob(name string, j wire.Job) error {
	switch {
	case notebook.CheckName(name) != nil:
		return notebook.CheckName(name)
	case !idPattern.Get().MatchString(j.ID):
		return errors.New("id: use 16 to 64 letters, digits, _ and -")
	case j.Estimate < 0 || j.Estimate > 1e6:
		return errors.New("estimate: use seconds, up to a million")
	case slices.ContainsFunc(j.Env, func(e string) bool { return !strings.HasPrefix(e, "DS_") || !strings.Contains(e, "=") }):
		return errors.New("env: use DS_NAME=value")
	}
	return nil
}

// get follows a job that was begun.
func (s *Server) get(w http.ResponseWriter, r *http.Request, tenant string) {
	j, err := s.find(place{tenant, r.PathValue("name")}).job(r.PathValue("id"))
	s.follow(w, r, j, err)
}

func (s *Server) follow(w http.ResponseWriter, r *http.Request, j *job, err error) {
	switch {
	case err != nil:
		fail(w, status(err), err.Error())
		return
	case j == nil:
		fail(w, http.StatusNotFound, "there is no such cell")
		return
	}
	var at int64
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		at, err = strconv.ParseInt(last, 10, 64)
		if size, _, _, _ := j.stream.state(); err != nil || at < 0 || at > size {
			fail(w, http.StatusBadRequest, "Last-Event-ID is none of this stream")
			return
		}
	}
	defer j.listen(s.Grace)()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	j.stream.follow(r.Context(), w, at, s.Ping)
}

func status(err error) int {
	for known, code := range map[error]int{
		errGone: http.StatusGone, errStopping: http.StatusServiceUnavailable, errMany: http.StatusTooManyRequests,
		errKept: http.StatusTooManyRequests, errWaiting: http.StatusTooManyRequests,
	} {
		if errors.Is(err, known) {
			return code
		}
	}
	return http.StatusInternalServerError
}

// cancel interrupts.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request, tenant string) {
	var want wire.Cancel
	if !body(w, r, &want) {
		return
	}
	name := r.PathValue("name")
	if notebook.CheckName(name) != nil || want.ID != "" && !idPattern.Get().MatchString(want.ID) {
		fail(w, http.StatusBadRequest, "there is no notebook or no cell of that name")
		return
	}
	s.interrupt(place{tenant, name}, want.ID)
	reply(w, http.StatusOK, struct{}{})
}

// answer answers what a cell asked.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, tenant string) {
	var a wire.Answer
	if !body(w, r, &a) {
		return
	}
	j, _ := s.find(place{tenant, r.PathValue("name")}).job(r.PathValue("id")) // one that is gone asks nothing
	number, err := strconv.Atoi(r.PathValue("number"))
	if j == nil || err != nil {
		fail(w, http.StatusNotFound, "nobody asked that")
		return
	}
	j.answer(number, a)
	reply(w, http.StatusOK, struct{}{})
}
