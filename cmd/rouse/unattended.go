package main

import (
	"slices"
	"time"

	"rouse/agent"
	"rouse/agent/budget"
	"rouse/agent/config"
	"rouse/agent/notify"
	"rouse/agent/retention"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/proc"
	"rouse/internal/redact"
)

// limited lets a model keep to the limits of the home, if there are any.
func (a *app) limited(h home.Home, c config.Config, m agent.Model) (agent.Model, *budget.Budget, error) {
	b := budgetOf(h, c, budget.Prices{}, a.now)
	if !b.Limited() {
		return m, nil, nil
	}
	prices, err := budget.LoadPrices(pricesOf(h))
	if err != nil {
		return nil, nil, err
	}
	b.Currency = prices.Currency
	price, _ := prices.Of(c.Model.Name)
	if c.Limits.Limited() && c.Model.Provider != "offline" {
		if price, err = prices.Need(c.Model.Name); err != nil {
			return nil, nil, err
		}
	}
	return &budget.Model{Next: m, Budget: b, Price: price, MaxOutput: int(c.Model.MaxOutput)}, b, nil
}

// wakingOf is what cycles and the schedule tell each other.
func (a *app) wakingOf(h home.Home, c config.Config) agent.Waking {
	skips := func(e schedule.Entry) bool { return e.IdleSkip }
	return agent.Waking{
		Min: time.Duration(c.Cycle.NextWake.Min), Max: time.Duration(c.Cycle.NextWake.Max),
		Ask:      func(when time.Time) error { return a.ledger(h).Ask(schedule.NextWake, when) },
		IdleSkip: slices.ContainsFunc(c.Schedule, skips), Watch: watched(h, c),
	}
}

// notifier tells people of the home.
func (a *app) notifier(h home.Home, c config.Config, r *proc.Runner, hide *redact.Redactor) *notify.Notifier {
	n := &notify.Notifier{Logs: h.Logs(), Home: h.Dir, Runner: r, Redact: hide, Now: a.now}
	for _, s := range c.Notify {
		n.Sinks = append(n.Sinks, notify.Sink(s))
	}
	return n
}

// heartbeat is the home's sign of life.
func (a *app) heartbeat(h home.Home, c config.Config) notify.Heartbeat {
	return notify.Heartbeat{Target: c.Heartbeat, Home: h.Dir, Now: a.now}
}

// shelfLife is how long the home keeps what cycles leave.
func (a *app) shelfLife(h home.Home, c config.Config) *retention.Store {
	return &retention.Store{
		Home: h, Now: a.now,
		Policy: retention.Policy{Keep: time.Duration(c.Retention.Keep), KeepFailed: time.Duration(c.Retention.KeepFailed)},
	}
}
