package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"rouse/tools/notebook/wire"
)

// maxAsks is how many questions of a cell are answered at the same time.
const maxAsks = 8

// asks answers what a cell asks. Each is asked of the model once, however often
// the answer must be sent.
type asks struct {
	f      *follower
	ctx    context.Context
	cancel context.CancelFunc
	free   chan struct{}
	wait   sync.WaitGroup
}

func newAsks(f *follower, ctx context.Context) *asks {
	ctx, cancel := context.WithCancel(ctx)
	return &asks{f: f, ctx: ctx, cancel: cancel, free: make(chan struct{}, maxAsks)}
}

// answer answers beside the stream, unless too many are being answered.
func (a *asks) answer(q wire.Ask) {
	select {
	case a.free <- struct{}{}:
	case <-a.ctx.Done():
		return
	}
	a.wait.Go(func() {
		defer func() { <-a.free }()
		got := a.ask(q)
		body, err := json.Marshal(got)
		if err != nil || len(body) > wire.MaxBody {
			body, _ = json.Marshal(wire.Answer{Error: "the model's answer cannot be sent"}) // of a string
		}
		a.f.insist(a.ctx, request{
			method: http.MethodPost, url: fmt.Sprintf("%s/cells/%s/answers/%d", a.f.url, a.f.id, q.Number), instance: a.f.instance, body: body,
		})
	})
}

func (a *asks) ask(q wire.Ask) wire.Answer {
	got, err := a.f.c.LLM.Ask(a.ctx, q.Question)
	switch {
	case err != nil:
		return wire.Answer{Error: err.Error()}
	case q.Prompt == nil:
		return wire.Answer{Text: got.Text}
	}
	return wire.Answer{Completion: &got}
}

// close ends what is being answered: the cell has ended.
func (a *asks) close() {
	a.cancel()
	a.wait.Wait()
}
