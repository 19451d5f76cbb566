package setup

import (
	"cmp"
	"context"
	"fmt"

	"rouse/agent/budget"
	"rouse/agent/config"
	"rouse/agent/replay"
)

// Replay runs a recorded cycle again.
func (s *Setup) Replay(ctx context.Context, cycle string) (replay.Replayed, error) {
	return replay.Run(ctx, s.Home, cycle, replay.Options{Redact: s.Hidden(), Demo: Demo()})
}

// Questions are the decisions of cycles put to another model, or under other rules; ""
// are those of then. At most so much money is spent on them; 0 is what the home's
// limits allow. What cannot be asked is told.
func (s *Setup) Questions(cycles []string, rules, model string, money budget.Money) (list []replay.Question, missing []error, err error) {
	if err := s.known().Err(s.found()); err != nil {
		return nil, nil, err // a changed address is sent nothing
	}
	askers := map[string]*replay.Asker{}
	b, err := s.newBudget()
	if err != nil {
		return nil, nil, err
	}
	b.Limits.Cycle = budget.Amount{Money: money} // it is no cycle
	if prices, err := s.Prices(); err == nil {   // else who asks is told
		b.Currency = prices.Currency
	}
	return replay.Ask(s.Home, cycles, s.Hidden().String(rules), func(then string) (a *replay.Asker, err error) {
		name := cmp.Or(model, then)
		if askers[name] == nil {
			askers[name], err = s.asker(b, name)
		}
		return askers[name], err
	})
}

// asker asks the model of that name: the configured one, one of its fallbacks, or
// another one on the server of the first.
func (s *Setup) asker(b *budget.Budget, name string) (*replay.Asker, error) {
	prices, err := s.Prices()
	if err != nil {
		return nil, err
	}
	m := s.modelNamed(name)
	price, priced := prices.Of(m.Name)
	if m.Provider == "offline" {
		price, priced = budget.Price{}, true
	} else if b.Limits.Money() {
		price, err = prices.Need(m.Name)
	}
	if err != nil {
		return nil, err
	}
	client, err := s.client(m, s.Hidden(), false)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	within := &budget.Model{Next: client.Reply, Budget: b, Price: price, MaxOutput: int(m.MaxOutput), Quiet: true}
	return &replay.Asker{Model: within, Name: m.Name, Price: price, Priced: priced, MaxOutput: int(m.MaxOutput), Redact: s.Hidden()}, nil
}

func (s *Setup) modelNamed(name string) config.Model {
	m := s.Config.Model
	if name == "" || name == "offline" {
		return m
	}
	for _, f := range m.Fallbacks() {
		if f.Name == name {
			return f
		}
	}
	m.Name = name
	return m
}
