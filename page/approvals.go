package page

import (
	"errors"
	"fmt"
	"net/http"

	"rouse/agent/approval"
	"rouse/setup"
)

// answeredShown is how many calls are shown that were answered.
const answeredShown = 100

// approvals are the calls that wait for a person, and those that no longer do.
type approvals struct {
	Open, Ended []asked
	Left        int    // how many of the latter are not shown
	Unwalled    string // why no answer is taken, where that is so
}

// asked is a call, without secrets.
type asked struct {
	setup.Approval
	Arguments []approval.Argument
	Call      string
	Edited    bool
	Seen      string // the hash of what is shown
}

// showApprovals shows what calls wait for a yes.
func (v *visit) showApprovals() (sheet, error) {
	list, err := v.home.Asked()
	var d approvals
	if err := v.home.Answers(); err != nil && v.Fleet == nil {
		d.Unwalled = err.Error()
	}
	for _, e := range list {
		switch {
		case e.State == approval.Open:
			d.Open = append(d.Open, v.shown(e))
		case len(d.Ended) < answeredShown:
			d.Ended = append(d.Ended, v.shown(e))
		default:
			d.Left++
		}
	}
	return sheet{template: "approvals", title: "Approvals", data: d}, err
}

func (v *visit) shown(e setup.Approval) asked {
	hide := v.home.Hidden()
	a := asked{e, e.Arguments(), hide.String(e.Call()), e.Edited(), e.Shown()}
	for i := range a.Arguments {
		a.Arguments[i].Value = hide.String(a.Arguments[i].Value)
	}
	for _, s := range []*string{&e.Rule, &e.Said, &e.Why, &e.Outcome} {
		*s = hide.String(*s)
	}
	for i := range e.Read {
		e.Read[i] = hide.String(e.Read[i])
	}
	return a
}

// Open is how many calls wait for a yes in the home that is shown.
func (f frame) Open() (n int) {
	if f.visit == nil || f.visit.home == nil {
		return 0
	}
	list, _ := f.visit.home.Asked() // the page of approvals says what is wrong with them
	for n < len(list) && list[n].State == approval.Open {
		n++
	}
	return n
}

// reply answers a call, as it was shown.
func (v *visit) reply() (sheet, error) {
	r := approval.Reply{Decision: v.PostFormValue("decision"), By: v.by(), Why: v.typed("why"), Seen: v.PostFormValue("seen")}
	if r.Decision != approval.Approve && r.Decision != approval.Deny || r.Seen == "" {
		return sheet{}, wrong{http.StatusBadRequest, errors.New("approve or deny a call that was shown to you")}
	}
	e, err := v.home.Reply(v.PathValue("id"), r)
	if err != nil {
		return sheet{}, wrong{http.StatusConflict, err}
	}
	return sheet{to: v.path("approvals"), said: fmt.Sprintf("%s is %s: %s", e.ID, e.State, e.Call())}, nil
}
