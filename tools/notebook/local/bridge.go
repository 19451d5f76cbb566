package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"rouse/internal/frame"
	"rouse/tools/notebook"
)

const (
	maxRequest = 8 << 20 // bytes of one request of a cell
	maxCalls   = 8       // that go on at the same time
)

// bridge does for cells what their process must not: it asks the model, and
// installs packages.
type bridge struct {
	to, from *os.File
	llm      notebook.LLM
	install  func(context.Context, []string, io.Writer) error

	mu sync.Mutex // one answer at a time
}

// request is what a cell asks for.
type request struct {
	Nonce string          `json:"nonce"`
	ID    int             `json:"id"`
	Do    string          `json:"do"` // llm, search or install
	Args  json.RawMessage `json:"args"`
}

type answer struct {
	ID    int    `json:"id"`
	Error string `json:"error,omitempty"`
	Value any    `json:"value,omitempty"`
}

// serve answers requests until there can be no more.
func (b *bridge) serve(k *kernel) {
	free := make(chan struct{}, maxCalls)
	io.Copy(&frame.Lines{Max: maxRequest, Line: func(line []byte) {
		var q request
		if json.Unmarshal(line, &q) == nil && q.ID != 0 {
			b.request(k, q, free)
		}
	}}, b.from)
}

// request answers one of a cell that runs, beside others as far as there is free room.
func (b *bridge) request(k *kernel, q request, free chan struct{}) {
	cell := k.join(q.Nonce)
	if cell == nil {
		b.answer(answer{ID: q.ID, Error: "no cell is running: call this while one is"})
		return
	}
	select {
	case free <- struct{}{}:
	case <-cell.ctx.Done():
		cell.calls.Done()
		return
	}
	go func() {
		defer cell.calls.Done()
		defer func() { <-free }()
		value, err := b.do(cell, q)
		a := answer{ID: q.ID, Value: value}
		if err != nil {
			a.Error = err.Error()
		}
		b.answer(a)
	}()
}

// join counts a call to the bridge as one of the cell of that nonce, which
// waits for it; nil if that cell does not run.
func (k *kernel) join(nonce string) *run {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.current
	if r == nil || nonce == "" || r.nonce != nonce || r.ctx.Err() != nil {
		return nil
	}
	r.calls.Add(1)
	return r
}

func (b *bridge) answer(a answer) {
	data, err := json.Marshal(a)
	if err != nil {
		data = fmt.Appendf(nil, `{"id":%d,"error":"the answer is not JSON"}`, a.ID)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to.SetWriteDeadline(time.Now().Add(writeTimeout))
	b.to.Write(append(data, '\n')) // if nobody reads it, the process is gone
}

// do carries out one request, with a sign of life now and then.
func (b *bridge) do(cell *run, q request) (any, error) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		tick := time.NewTicker(cell.beat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				cell.touch()
			case <-stop:
				return
			}
		}
	}()
	switch q.Do {
	case "llm":
		return b.complete(cell, q.Args)
	case "search":
		return b.search(cell, q.Args)
	case "install":
		return nil, b.installFor(cell, q.Args)
	}
	return nil, fmt.Errorf("unknown request %.40q", q.Do)
}

func (b *bridge) complete(cell *run, args json.RawMessage) (any, error) {
	var p notebook.Prompt
	if err := json.Unmarshal(args, &p); err != nil {
		return nil, fmt.Errorf("messages: %w", err)
	}
	return b.llm.Ask(cell.ctx, notebook.Question{Prompt: &p})
}

func (b *bridge) search(cell *run, args json.RawMessage) (any, error) {
	var q notebook.Question
	if err := json.Unmarshal(args, &q); err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	found, err := b.llm.Ask(cell.ctx, notebook.Question{Query: q.Query})
	return found.Text, err
}

// installFor installs for a cell, which is not idle meanwhile.
func (b *bridge) installFor(cell *run, args json.RawMessage) error {
	var q struct{ Packages []string }
	if err := json.Unmarshal(args, &q); err != nil {
		return fmt.Errorf("packages: %w", err)
	}
	cell.pause(1)
	defer cell.pause(-1)
	cell.output(notebook.Log, []byte("installing "+strings.Join(q.Packages, " ")+"\n"))
	return b.install(cell.ctx, q.Packages, io.Discard)
}
