package budget

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"rouse/agent/model"
	"rouse/journal"
)

// Model is a model, Next, that keeps to a budget. It reserves before each request, and
// again before each retry of one that may have cost something. At 80 % of a
// limit it says so at the end of the request's last message. A request that does
// not fit fails with *[Exceeded].
type Model struct {
	Next      func(context.Context, model.Request) (model.Reply, error)
	Budget    *Budget
	Price     Price
	MaxOutput int // tokens of a reply
	// Quiet says nothing of the budget in requests.
	Quiet bool

	mu     sync.Mutex
	factor float64 // by how much the estimate was too low at worst, at least 1
}

// Reply is the model's reply.
func (m *Model) Reply(ctx context.Context, req model.Request) (model.Reply, error) {
	if !m.Budget.Limited() {
		return m.Next(ctx, req)
	}
	estimate := Tokens(req)
	want := m.worst(estimate)
	held, err := m.Budget.Reserve(ctx, want)
	if err != nil {
		return model.Reply{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	told := held.Warning
	if m.Quiet {
		told = ""
	}
	req = Warned(req, told)
	onRetry := req.OnRetry
	req.OnRetry = func(attempt int, wait time.Duration, err error) {
		if onRetry != nil {
			onRetry(attempt, wait, err)
		}
		if model.Unbilled(err) {
			return
		}
		again, err := m.Budget.Reserve(ctx, want)
		if err != nil {
			cancel(err)
			return
		}
		held = again // the one before stays spent
	}
	reply, err := m.Next(ctx, req)
	reply.Told = told
	m.settle(held, estimate, reply, err)
	return reply, err
}

// slack is by how many tokens the first request of a cycle may be larger than it
// was foreseen: a warning that the cycle begins with, or a time in other digits.
const slack = 300

// Fits says whether a cycle that begins now could send its first request, which is
// foreseen to be req, and call a tool after it. Nothing is reserved; what
// [Model.Reply] reserves for it then is held against the same limits, and is no more.
// The error is *[Exceeded] if it could not.
func (m *Model) Fits(ctx context.Context, req model.Request) error {
	want := m.worst(Tokens(req) + slack)
	want.Calls = 1
	return m.Budget.Fits(ctx, want)
}

// Tokens estimates how many tokens a request has, rather too many: one for every
// three bytes, where most text has four to a token, and as many for a picture as
// servers take at most for a large one.
func Tokens(req model.Request) (n int) {
	const image, overhead = 3000, 8
	for _, m := range req.Messages {
		n += (len(m.Content)+len(m.Kept))/3 + overhead + len(m.Images)*image
		for _, c := range m.Calls {
			n += (len(c.Name)+len(c.Args))/3 + overhead
		}
	}
	for _, t := range req.Tools {
		n += (len(t.Name)+len(t.Description)+len(t.Parameters))/3 + overhead
	}
	return n
}

// worst is what a request may use.
func (m *Model) worst(estimate int) Amount {
	m.mu.Lock()
	defer m.mu.Unlock()
	input := int64(math.Ceil(float64(estimate) * max(1, m.factor)))
	output := int64(m.MaxOutput)
	// What a cache is written for costs a quarter more, which the estimate is too high by.
	dearest := max(m.Price.Input, m.Price.Cached)
	return Amount{Tokens: Count(input + output), Money: Price{Input: dearest, Output: m.Price.Output}.Cost(journal.Usage{Input: int(input), Output: m.MaxOutput})}
}

// settle counts what a request used. Where that is not known, as after a request
// that broke off or from a server that does not count, the reservation stands;
// so it does where the ledger cannot be written, as the next request will tell.
func (m *Model) settle(held Held, estimate int, reply model.Reply, err error) {
	u := reply.Usage
	switch {
	case err != nil && model.Unbilled(err):
		_ = m.Budget.Settle(held, Amount{})
	case err == nil && u.Input+u.Output > 0:
		m.learn(estimate, u.Input)
		_ = m.Budget.Settle(held, Amount{
			Tokens: Count(u.Input + u.Output),
			Money:  m.Price.Cost(journal.Usage(u)),
		})
	}
}

// learn makes later estimates as high as this input was, in proportion.
func (m *Model) learn(estimate, input int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.factor = max(m.factor, float64(input)/float64(max(1, estimate)))
}

// Warned is a request with a text at its end. Templates that want roles to take
// turns allow no message of its own for it.
func Warned(req model.Request, text string) model.Request {
	if text == "" || len(req.Messages) == 0 {
		return req
	}
	req.Messages = slices.Clone(req.Messages)
	last := &req.Messages[len(req.Messages)-1]
	last.Content += "\n\n" + text
	return req
}
