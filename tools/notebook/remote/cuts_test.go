package remote_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"rouse/internal/sweep"
	"rouse/tools/notebook"
	"rouse/tools/notebook/notebooktest"
	"rouse/tools/notebook/remote"
	"rouse/tools/notebook/serve"
)

// counted is a runtime without Python, which counts what it is asked to do.
type counted struct {
	llm notebook.LLM
	// wait, unless nil, is what a cell waits for, or for its end.
	wait chan struct{}

	mu   sync.Mutex
	runs map[string]int // of each code
	did  []string
}

func (c *counted) note(what string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did = append(c.did, what)
	return nil
}

func (c *counted) Start(context.Context) error  { return c.note("start") }
func (c *counted) Reset(context.Context) error  { return c.note("reset") }
func (c *counted) Remove(context.Context) error { return c.note("remove") }
func (c *counted) Cancel()                      {}

func (c *counted) Close(ctx context.Context) error {
	if ctx.Err() != nil {
		return c.note("end")
	}
	return c.note("close")
}

func (c *counted) Install(_ context.Context, packages []string, log io.Writer) error {
	fmt.Fprintln(log, "installed")
	return c.note("install " + strings.Join(packages, " "))
}

// Execute prints, asks the model, and prints again.
func (c *counted) Execute(ctx context.Context, job notebook.Job, emit func(notebook.Event)) (notebook.Outcome, error) {
	c.mu.Lock()
	if c.runs == nil {
		c.runs = map[string]int{}
	}
	c.runs[job.Code]++
	c.mu.Unlock()
	emit(notebook.Event{Stream: notebook.Stdout, Data: []byte("one\n")})
	answer, err := c.llm(ctx, notebook.Question{Prompt: &notebook.Prompt{Messages: []notebook.Message{{Role: "user", Content: job.Code}}}})
	if ctx.Err() != nil {
		c.note("canceled")
		return notebook.Outcome{Ended: notebook.Canceled}, nil
	}
	if err != nil {
		return notebook.Outcome{Ended: notebook.Failed, Error: err.Error()}, nil
	}
	if c.wait != nil {
		select {
		case <-c.wait:
		case <-ctx.Done():
			c.note("canceled")
			return notebook.Outcome{Ended: notebook.Canceled}, nil
		}
	}
	for i := range 20 {
		emit(notebook.Event{Stream: notebook.Stderr, Data: fmt.Appendf(nil, "%d\n", i)})
	}
	return notebook.Outcome{Ended: notebook.OK, Value: answer.Text}, nil
}

// newCounted makes a server without Python.
func newCounted(t testing.TB) (*rig, *counted) {
	t.Helper()
	c := &counted{}
	s := &serve.Server{
		Dir: t.TempDir(), Version: "test", Tokens: map[string]string{"ann": token("ann"), "bob": token("bob")},
		Open: func(p serve.Place) (notebook.Runtime, error) {
			c.llm = p.LLM
			return c, nil
		},
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close(t.Context())
		web.CloseClientConnections()
		web.Close()
	})
	return &rig{s, web.URL}, c
}

func (r *rig) host() string { return strings.TrimPrefix(r.url, "http://") }

// TestCuts cuts the first connections, as many as a client makes at one time and
// more, at each of many byte counts, in either direction: each cell runs once,
// its output and its outcome arrive whole, and the model is asked once.
func TestCuts(t *testing.T) {
	t.Parallel()
	cut, step := int64(0), sweep.Of[int64](397, 199, 7)
	for _, up := range []bool{false, true} {
		most := int64(4200) // more than a cell's stream has
		if up {
			most = 900
		}
		for at := int64(0); at < most; at += step {
			server, ran := newCounted(t)
			p := newProxy(t, server.host(), func(n int) (int64, int64) {
				switch {
				case n >= 4:
					return -1, -1
				case up:
					return at, -1
				}
				return -1, at
			})
			model := &notebooktest.Model{}
			c := &remote.Client{Endpoint: p.url(), Token: token("ann"), LLM: model.Ask}
			r := open(t, c, "main")
			for _, code := range []string{"a", "b"} {
				got := notebooktest.ExecJob(t.Context(), t, r, notebook.Job{ID: "x", Number: 1, Code: code})
				if got.Ended != notebook.OK || got.Value != "echo: "+code || got.Stdout != "one\n" || len(got.Stderr) != 50 || ran.runs[code] != 1 {
					t.Fatalf("cut at %d, up %v: ran %d times: %+v", at, up, ran.runs[code], got)
				}
			}
			if n := len(model.Asked()); n != 2 {
				t.Errorf("cut at %d: the model was asked %d times", at, n)
			}
			cut += p.cuts.Load()
			p.Close()
		}
	}
	t.Logf("%d connections were cut", cut)
}

// TestConformanceCut is the suite over connections that are cut now and then.
func TestConformanceCut(t *testing.T) {
	notebooktest.Full(t) // the suite runs without cuts too, and TestCuts cuts
	var cuts atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d connections were cut", cuts.Load())
		if cuts.Load() == 0 && !t.Skipped() {
			t.Error("nothing was cut")
		}
	})
	notebooktest.Run(t, func(t *testing.T, o notebooktest.Options) func() notebook.Runtime {
		server := newRig(t, o)
		p := newProxy(t, server.host(), func(n int) (int64, int64) {
			return -1, []int64{300, 700, 1500, 4000, 20_000, -1}[n%6]
		})
		t.Cleanup(func() { cuts.Add(p.cuts.Load()) })
		c := &remote.Client{Endpoint: p.url(), Token: token("ann"), LLM: o.LLM}
		return func() notebook.Runtime { return open(t, c, "main") }
	})
}
