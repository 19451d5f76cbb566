package agent

import (
	"context"
	"strings"
	"sync"
	"testing"

	"rouse/agent/model"
	"rouse/internal/disk"
	"rouse/journal"
)

// patient says done in the third iteration, and something to whoever asks beside.
type patient struct {
	mu    sync.Mutex
	asked int // beside the conversation
}

func (m *patient) Reply(_ context.Context, req model.Request) (model.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := model.Reply{Text: "here", Usage: model.Usage{Input: 1, Output: 1}}
	switch {
	case len(req.Tools) == 0:
		m.asked++
	case len(req.Messages) < 6:
		r.Text = act("effect", `{"label":"a"}`)
	default:
		r.Text = act("done", `{"summary":"seen"}`)
	}
	return native(r), nil
}

// What runs for tools may ask the model while the cycle goes on.
func TestAskBeside(t *testing.T) {
	r := newRig(t, "", oldState)
	a, _ := r.agent(unsynced{disk.OS{}})
	m := &patient{}
	a.Model = m
	a.Boxes = []OpenBox{func(ctx context.Context, host Host) Box {
		ctx, stop := context.WithCancel(ctx)
		var work sync.WaitGroup // asks all the time, as a thread of a cell can
		work.Go(func() {
			for ctx.Err() == nil {
				if _, err := host.Ask(ctx, "notebook", model.Request{Messages: []model.Message{{Content: "where?"}}}); err != nil {
					t.Error(err)
				}
			}
		})
		return Box{Close: func() {
			stop()
			work.Wait()
		}}
	}}
	report, err := a.RunOnce(t.Context())
	if err != nil || report.Exit != 0 || report.Iterations != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	told := 0
	for e, err := range journal.Read(r.home.Journal(report.Cycle)) {
		r.must(err)
		if d, ok := e.Data.(*journal.Request); ok && d.For == "notebook" {
			told++
		}
	}
	if told != m.asked || report.Tokens != 2*(told+report.Iterations) {
		t.Errorf("%d asked, %d in the journal, %d tokens", m.asked, told, report.Tokens)
	}
	if got := strings.Join(r.ran, ""); got != "aa" {
		t.Errorf("ran %q", got)
	}
}
