package page

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"rouse/agent/approval"
	"rouse/setup"
)

// Fleet is where homes are kept of which those here are copies. Nothing is done in a copy: a
// button orders it, or says how it is done.
type Fleet struct {
	Homes func() ([]Kept, error)
	// Fresh makes a copy current, and says whether a cycle of the home is awake.
	Fresh func(dir string) (awake bool, err error)
	// Order has rouse do something in a home, and gives what it said.
	Order func(dir string, argv []string) (said string, err error)
	// Receive takes what was sent to a hook of a home, and Became says what became of it.
	Receive func(h *setup.Setup, hook string, header http.Header, body []byte) (setup.Received, error)
	Became  func(h *setup.Setup, hook, id string) (setup.Received, error)
}

// Kept is a home as its fleet shows it, without its files.
type Kept struct {
	Name, Dir            string // Dir is that of the copy
	Where, Newest, Today string
	Needs                []string // a person, and why
	Next                 *time.Time
}

// open opens a home, of a fleet as it is now.
func (s *Server) open(h named) (*setup.Setup, error) {
	if s.Fleet == nil {
		return s.Open(h.Dir)
	}
	awake, err := s.Fleet.Fresh(h.Dir)
	if err != nil {
		return nil, err
	}
	opened, err := s.Open(h.Dir)
	if err == nil {
		opened.Home.Elsewhere = awake
	}
	return opened, err
}

// rowOfKept is a row of the list of homes, which needs no copy.
func (s *Server) rowOfKept(h named) shown {
	r := shown{html: s.part("kept", h.kept), dir: h.Dir, needs: len(h.kept.Needs) > 0}
	r.words = strings.ToLower(strings.Join(append(h.kept.Needs, h.Name, h.kept.Where, h.kept.Newest), "\n"))
	sum := fnv.New32a()
	sum.Write([]byte(r.html))
	r.number = 1 + int(sum.Sum32())
	return r
}

// stays makes the copy current, and says whether the cycle that is followed is awake still.
func (s *stream) stays() bool {
	awake, err := s.Fleet.Fresh(s.home.Home.Dir)
	return awake && err == nil
}

// button is what a button has rouse do in the home, and the page that follows; nil is one
// that asks first, and orders by itself.
type button func(v *visit) (argv []string, to string, err error)

// orders are the buttons that can be ordered.
func orders() map[string]button {
	return map[string]button{
		"/h/{home}/tell": (*visit).orderTell,
		"/h/{home}/run":  func(v *visit) ([]string, string, error) { return []string{"run"}, v.path(), nil },
		"/h/{home}/pause": func(v *visit) ([]string, string, error) {
			return []string{"pause", "--", cmp.Or(strings.TrimSpace(v.typed("reason")), "paused on the page")}, v.path(), nil
		},
		"/h/{home}/resume":         func(v *visit) ([]string, string, error) { return []string{"resume"}, v.path(), nil },
		"/h/{home}/approvals/{id}": (*visit).orderReply,
		"/h/{home}/policy":         (*visit).orderAllow,
		"/h/{home}/rewind":         nil,
	}
}

// ordered is a button of a home in a fleet: the order, or how it is done otherwise.
func ordered(pattern string, here func(*visit) (sheet, error)) func(*visit) (sheet, error) {
	b, is := orders()[pattern]
	switch {
	case !is:
		return (*visit).unordered
	case b == nil:
		return here
	}
	return func(v *visit) (sheet, error) {
		argv, to, err := b(v)
		if err != nil {
			return sheet{}, wrong{http.StatusBadRequest, err}
		}
		return v.order(to, argv...)
	}
}

func (v *visit) unordered() (sheet, error) {
	return sheet{}, wrong{http.StatusConflict, fmt.Errorf("the home is in a fleet, and this cannot be ordered: rouse-fleet pull %s, do it there, and push it", v.name)}
}

func (v *visit) order(to string, argv ...string) (sheet, error) {
	said, err := v.Fleet.Order(v.home.Home.Dir, argv)
	if err != nil {
		return sheet{}, wrong{http.StatusConflict, err}
	}
	return sheet{to: to, said: said}, nil
}

func (v *visit) orderTell() (argv []string, to string, err error) {
	checks := strings.FieldsFunc(v.typed("check"), func(r rune) bool { return r == '\n' })
	item, err := v.home.TaskOf(v.typed("task"), checks, v.by())
	argv = []string{"tell"}
	for _, c := range checks {
		argv = append(argv, "--check="+c)
	}
	argv = append(argv, "--", item.Task)
	if err == nil && v.PostFormValue("now") != "" {
		_, err = v.Fleet.Order(v.home.Home.Dir, argv)
		argv = []string{"run"}
	}
	return argv, v.path(), err
}

// orderReply answers a call, which must be as it was shown.
func (v *visit) orderReply() (argv []string, to string, err error) {
	id, decision := v.PathValue("id"), v.PostFormValue("decision")
	list, err := v.home.Asked(id)
	switch {
	case err != nil:
	case decision != approval.Approve && decision != approval.Deny:
		err = errors.New("approve or deny a call that was shown to you")
	case len(list) != 1 || list[0].Shown() != v.PostFormValue("seen"):
		err = errors.New("the call is not what you were shown: look again")
	}
	return []string{"approvals", decision, "--why=" + v.typed("why"), "--", id}, v.path("approvals"), err
}

func (v *visit) orderAllow() (argv []string, to string, err error) {
	kind, what, err := v.allowing()
	return []string{"allow", kind, "--", what}, v.path("policy"), err
}
