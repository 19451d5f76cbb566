package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"rouse/dispatcher"
	"rouse/home"
	"rouse/journal"
	"rouse/scratchpad/observation"
)

// Verified is what of a cycle is proven.
type Verified struct {
	Cycle string `json:"cycle"`
	// Sealed says that its journal has a chain, and Doubt what that does not prove.
	Sealed bool   `json:"sealed"`
	Doubt  string `json:"doubt,omitempty"`
	// Evidence is what the model quoted.
	Evidence []Cited `json:"evidence"`
}

// Cited is one quote, looked up again.
type Cited struct {
	In    int    `json:"in"` // the step that it came with
	Step  int    `json:"step"`
	Quote string `json:"quote"`
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
}

// States of a quote.
const (
	Supported   = "supported"
	Unsupported = "unsupported"
	Gone        = "gone" // it can no longer be looked up
)

// Holds says whether nothing of it is in doubt, as far as that can be told.
func (v Verified) Holds() bool {
	for _, c := range v.Evidence {
		if c.State == Unsupported {
			return false
		}
	}
	return v.Doubt == ""
}

// VerifyAll checks the chains of the journals of cycles, and looks up again what the
// model quoted in them. Quotes in lines that a chain does not prove are none.
func VerifyAll(ctx context.Context, h home.Home, ids []string) (list []Verified, err error) {
	for _, id := range ids {
		v, err := verifyCycle(ctx, h, id)
		if err != nil {
			return nil, fmt.Errorf("verify cycle %s: %w", id, err)
		}
		list = append(list, v)
	}
	return list, nil
}

func verifyCycle(ctx context.Context, h home.Home, id string) (Verified, error) {
	v := Verified{Cycle: id, Evidence: []Cited{}}
	key, err := h.Key()
	if err != nil {
		return v, err
	}
	sealed, lines, err := verify(h, id, key)
	if err != nil {
		return v, err
	}
	if v.Sealed = sealed; len(lines) > 0 && key != nil {
		v.Doubt = doubtedCycle{id, lines}.text(h)
	}
	a := again{home: h, results: map[int]*journal.Result{}}
	defer a.close()
	for e, err := range journal.Proven(journal.Check(h.Journal(id), journal.NewChain(key, id))) {
		if err != nil {
			return v, err
		}
		r, ok := e.Data.(*journal.Result)
		if !ok {
			continue
		}
		v.Evidence = append(v.Evidence, a.cite(ctx, r)...)
		a.results[r.Step] = r
	}
	return v, nil
}

// again looks quotes up again.
type again struct {
	home    home.Home
	results map[int]*journal.Result
	store   *observation.Store
}

func (a *again) close() {
	if a.store != nil {
		a.store.Close()
	}
}

// errGone is why a quote can no longer be looked up.
var errGone = errors.New("what that step gave is not kept any more")

func (a *again) cite(ctx context.Context, r *journal.Result) (list []Cited) {
	now := append([]journal.Evidence(nil), r.Evidence...)
	dispatcher.Prove(ctx, now, a.given)
	for _, e := range now {
		c := Cited{r.Step, e.Step, e.Quote, Supported, e.Unsupported}
		switch e.Unsupported {
		case "":
		case errGone.Error():
			c.State = Gone
		default:
			c.State = Unsupported
		}
		list = append(list, c)
	}
	return list
}

// given is what a step gave, as it is kept.
func (a *again) given(step int) (dispatcher.Given, error) {
	r, ok := a.results[step]
	if !ok {
		return dispatcher.Given{}, errGone // then it was there
	}
	g := dispatcher.Given{Texts: []string{dispatcher.Plainly(r.Content), r.Error, dispatcher.Plainly(r.Metadata)}}
	if r.ScratchpadID != "" {
		g.Texts[0], g.Open = "", func() (io.ReadCloser, error) { return a.open(r) }
	}
	return g, dispatcher.IsEvidence(r.Tool)
}

// open opens what a step gave in the store, if it is what it was.
func (a *again) open(r *journal.Result) (rc io.ReadCloser, err error) {
	if a.store == nil && observation.Exists(a.home.Memory()) {
		a.store, err = observation.Open(a.home.Memory(), observation.Options{})
	}
	if err != nil {
		return nil, err
	}
	if a.store == nil {
		return nil, errGone
	}
	c, err := a.store.Get(r.ScratchpadID)
	if errors.Is(err, observation.ErrNotFound) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = c.WriteTo(sum)
	if err == nil && r.SHA256 != "" && hex.EncodeToString(sum.Sum(nil)) != r.SHA256 {
		err = errors.New("what is kept of that step is not what it gave")
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return dispatcher.Opened(c), nil
}
