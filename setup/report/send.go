package report

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rouse/agent"
	"rouse/agent/notify"
	"rouse/home"
	"rouse/setup"
)

// Send sends the report that is due, if one is, since the last one that was sent. Two processes
// that do it at once send one, as its slot is its key; a process that dies before it is put
// down leaves it to the next. How it was delivered is in the notifications' own state, and why
// it could not even be put down is shown by the status.
func Send(s *setup.Setup) {
	at, since := s.NextReport()
	if at.IsZero() || at.After(s.Now()) {
		return
	}
	r, err := of(s, since.Format(home.CycleForm))
	r.Problems = slices.DeleteFunc(r.Problems, func(p string) bool { return strings.HasPrefix(p, setup.Unsent) }) // this is it
	if err == nil && r.wanted(s.Config.Report.When) {
		n := s.Notifier()
		if err = r.send(n, at, s.Config.Report.To); err == nil {
			_ = n.Deliver(context.Background())
			since = r.Until
			if i := slices.IndexFunc(r.Cycles, func(c agent.Summary) bool { return c.Outcome == agent.Awake }); i >= 0 {
				since = r.Cycles[i].Began // is told of again
			}
		}
	}
	_ = s.Reported(since, err) // else it is tried again, and told once
}

// wanted says whether there is what a report is sent for.
func (r Report) wanted(when string) bool {
	attention, changed := r.Attention()+r.Tally.Failed > 0, len(r.Memory)+len(r.Files) > 0
	return attention || when != "attention" && (changed || when != "changed")
}

func (r Report) send(n *notify.Notifier, at time.Time, to []string) error {
	var text, page bytes.Buffer
	r.Text(&text, nil)
	err := HTML(&page, []Report{r})
	subject := fmt.Sprintf("%s, %s: %d cycles, %d failed, %d need you", filepath.Base(r.Home), r.Until.Format("Mon 2 Jan"), r.Tally.Cycles, r.Tally.Failed, r.Attention())
	return cmp.Or(err, n.Send(context.Background(), notify.Message{
		Key: "report " + at.UTC().Format(time.RFC3339), Kind: notify.Report, Subject: subject, Text: text.String(), HTML: page.String(), To: to,
	}))
}
