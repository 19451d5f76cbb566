package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/agent/model"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/scratchpad/observation"
)

const canary = "canary-0123456789-abcdefgh"

// listening keeps what it is shown, and answers as another model does.
type listening struct {
	Model
	asked []string
}

func (m *listening) Reply(ctx context.Context, req model.Request) (model.Reply, error) {
	for _, msg := range req.Messages {
		m.asked = append(m.asked, msg.Content)
	}
	return m.Model.Reply(ctx, req)
}

// failing tells a secret in a retry and then in an error, across the place where
// the notes cut what they quote.
type failing struct{}

func (failing) Reply(_ context.Context, req model.Request) (model.Reply, error) {
	req.OnRetry(1, 0, errors.New("again: "+canary))
	return model.Reply{}, errors.New(strings.Repeat("x", maxNote-20) + canary)
}

// leaks names the files of a home, and the texts, that hold the beginning of the secret.
func (r *rig) leaks(texts ...string) (list []string) {
	r.t.Helper()
	err := filepath.WalkDir(r.home.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), canary[:12]) {
			list = append(list, filepath.Base(path))
		}
		return err
	})
	r.must(err)
	for _, t := range texts {
		if strings.Contains(t, canary[:12]) {
			list = append(list, t)
		}
	}
	return list
}

// Whoever words what goes wrong, the journal, the log, the notes and the request
// do not hold a secret, nor the first part of one that a bound cuts.
func TestSecretInWhatGoesWrong(t *testing.T) {
	r := newRig(t, "", oldState)
	a, _ := r.agent(unsynced{disk.OS{}})
	m := &listening{Model: failing{}}
	a.Model, a.Redact = m, redact.New(map[string]string{"SHOP_TOKEN": canary})
	a.Boxes = []OpenBox{func(context.Context, Host) Box { return Box{Problems: []string{"mcp: it said " + canary}} }}
	if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if list := r.leaks(m.asked...); list != nil {
		t.Errorf("the secret is in %q", list)
	}
	if log := r.read(r.home.Log(r.cycles()[0])); !strings.Contains(log, "it said [REDACTED:SHOP_TOKEN]") || !strings.Contains(log, "again: [REDACTED") {
		t.Errorf("the log does not tell of it: %s", log)
	}
}

// A label is redacted before it is cut for the model.
func TestSecretInALabel(t *testing.T) {
	r := newRig(t, "", oldState)
	s, err := observation.Open(r.home.Memory(), observation.Options{Now: func() time.Time { return r.now }})
	r.must(err)
	turn, err := s.Begin("20260401_000000", proc.Self())
	r.must(err)
	w := turn.Create(observation.Origin{})
	w.Write([]byte("text"))
	e, err := w.Commit(nil)
	r.must(err)
	r.must(turn.Keep(e.ID, strings.Repeat("x", 185)+canary, time.Hour))
	r.must(s.Close())
	a, script := r.agent(unsynced{disk.OS{}}, act("done", `{"summary":"seen"}`))
	m := &listening{Model: script}
	a.Model, a.Redact = m, redact.New(map[string]string{"SHOP_TOKEN": canary})
	if report, err := a.RunOnce(t.Context()); err != nil || report.Exit != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if !strings.Contains(strings.Join(m.asked, ""), "xxx[REDACTED") {
		t.Errorf("the model is not shown the label: %q", m.asked)
	}
	if strings.Contains(strings.Join(m.asked, ""), canary[:12]) {
		t.Errorf("the model is shown a part of the secret: %q", m.asked)
	}
}
