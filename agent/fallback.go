package agent

import (
	"cmp"
	"context"
	"fmt"
	"sort"
	"time"

	"rouse/agent/model"
	"rouse/internal/text"
	"rouse/journal"
)

// Target is a model that can be asked in place of the first; see [Asking].
type Target struct {
	Model              Model
	ModelName, ModelID string
	Style              string
}

// away is for how long a model that was away is asked only where no other answers.
const away = 30 * time.Minute

// lineUp puts the models in the order in which the cycle asks them: as they are
// configured, but those last that were away not long ago.
func (c *cycle) lineUp() {
	if len(c.asking.Fallback) == 0 {
		return
	}
	first := c.target()
	line := append([]Target{first}, c.asking.Fallback...)
	gone := func(t Target) int {
		c.use(t)
		if left := c.recall().Away.Sub(c.now()); left > 0 && left <= away {
			return 1
		}
		return 0
	}
	sort.SliceStable(line, func(i, j int) bool { return gone(line[i]) < gone(line[j]) })
	c.use(first)
	why := c.recall().Why
	c.use(line[0])
	c.others = line[1:]
	if line[0] != first {
		c.fallback = &journal.Model{Name: line[0].ModelName, Instead: first.ModelName, Reason: why}
	}
}

func (d *dialogue) target() Target {
	return Target{d.asking.Model, d.asking.ModelName, d.asking.ModelID, d.asking.Style}
}

// use lets the cycle ask a model from now on.
func (d *dialogue) use(t Target) {
	d.asking.Model, d.asking.ModelName, d.asking.ModelID, d.asking.Style = t.Model, t.ModelName, t.ModelID, t.Style
}

// ask sends the next request: the first one of a cycle to one model after the
// other, while they are away. Once one has answered, the cycle stays with it.
func (c *cycle) ask(ctx context.Context) (model.Reply, error) {
	if c.fallback != nil && c.described == 0 {
		if err := c.journal.Append(c.fallback); err != nil {
			return model.Reply{}, err
		}
	}
	for {
		reply, err := c.askModel(ctx)
		if len(c.asking.Fallback) == 0 {
			return reply, err
		}
		if err == nil {
			c.back()
			return reply, nil
		}
		next, failed := c.fallBack(err)
		if failed != nil || !next {
			return reply, cmp.Or(failed, c.afterFirst(err))
		}
	}
}

// back forgets that a model was away.
func (c *cycle) back() {
	if !c.recall().Away.IsZero() {
		c.learn(func(m *known) { m.Away, m.Why = time.Time{}, "" })
	}
}

// fallBack remembers that the model is away, if so, for the cycles to come; one that
// has heard nothing yet and begun nothing goes on with the next model.
func (c *cycle) fallBack(err error) (next bool, failed error) {
	if !model.Away(err) {
		return false, nil
	}
	why := text.Line(c.Redact.String(err.Error()), 300)
	c.learn(func(m *known) { m.Away, m.Why = c.now().Add(away), why })
	if !c.heard.silent() || len(c.others) == 0 {
		return false, nil
	}
	from := c.asking.ModelName
	c.use(c.others[0])
	c.others, c.described = c.others[1:], 0
	if c.fallback == nil {
		c.fallback = &journal.Model{Instead: from, Reason: why}
	}
	c.fallback.Name = c.asking.ModelName
	c.speak(c.protocol())
	return true, c.journal.Append(&journal.Model{Name: c.asking.ModelName, Instead: from, Reason: why})
}

// afterFirst is the failure of the last model that was asked, with that of the first.
func (c *cycle) afterFirst(err error) error {
	if c.fallback == nil || c.heard.reply.Load() {
		return err
	}
	return fmt.Errorf("%w; before it, %s", err, c.fallback.Reason)
}

// Likely is the model that a cycle which begins now would ask first.
func (a *Agent) Likely() Model {
	asking := a.Asking
	c := &cycle{Agent: a, dialogue: &dialogue{keeper: &a.Keeper, asking: &asking}}
	c.lineUp()
	return asking.Model
}
