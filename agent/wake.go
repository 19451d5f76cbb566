package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"rouse/agent/model"
	"rouse/agent/trust"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/journal"
	"rouse/tools"
)

// maxNote bounds one line that the agent adds to the notes, in characters.
const maxNote = 1000

// wake locks the home, settles an interrupted cycle, loads the state, opens the
// journal and writes the snapshot _before.
func (a *Agent) wake() (*cycle, error) {
	if err := a.Home.MakeFolders(a.disk()); err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	unlock, err := a.Home.Lock()
	if err != nil {
		return nil, err
	}
	c, err := a.open()
	if err != nil {
		unlock()
		return nil, err
	}
	c.unlock = unlock
	return c, nil
}

// open is wake in a locked home.
func (a *Agent) open() (*cycle, error) {
	newest, err := a.Home.Newest()
	if err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	seal, err := a.seal()
	if err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	settled, err := a.settleIf(newest, seal.key)
	if err == nil && seal.raise {
		seal.key, err = a.Home.Raise(a.disk())
	}
	if err != nil {
		return nil, err
	}
	c := &cycle{began: a.now(), seal: seal, known: trust.Read(a.Home, newest)}
	if err := c.known.Err(a.Found); err != nil {
		return nil, err
	}
	c.trust = c.known.Next(a.Found)
	if c.base, c.baseHash, err = a.Home.Load(); err != nil {
		return nil, err
	}
	c.state = c.base.Clone()
	if err := a.name(c, newest); err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	if err := a.record(c, settled); err != nil {
		c.journal.Close()
		return nil, fmt.Errorf("wake: %w", err)
	}
	return c, nil
}

// prepare gives the cycle what its run needs.
func (a *Agent) prepare(c *cycle, j dispatcher.Journal) error {
	if c.unruled != nil {
		return fmt.Errorf("read the rules: %w", c.unruled)
	}
	c.dispatcher = &dispatcher.Dispatcher{
		Tools: a.Tools, State: c.state, Journal: counting{j, &c.calls}, Locked: a.Locked, Now: a.Now, Kept: c.kept != "", Notes: a.Notes,
		Wishes: dispatcher.Wishes{WakeMin: a.Waking.Min, WakeMax: a.Waking.Max},
		Shelf: dispatcher.Shelf{
			Redact: a.Redact, Turn: c.turn, Threshold: a.Threshold, MaxAnswer: a.maxAnswer(c), Summarise: a.summariser(c),
		},
	}
	a.speak(c, c.rules, a.protocol(c))
	return c.begin(a.Task)
}

// maxAnswer is how much one scratchpad_read gives, in bytes: about a quarter of
// a request.
func (a *Agent) maxAnswer(c *cycle) int {
	most := a.maxTokens(c)
	if most <= 0 {
		return 0
	}
	return max(1024, most*3/4)
}

// Preview is the request that a cycle would send first, with these tools beside
// those that need nothing running. It changes nothing.
func (a *Agent) Preview(further ...tools.Tool) (model.Request, error) {
	c := &cycle{}
	c.iterations.Add(1)
	newest, err := a.Home.Newest()
	if err == nil {
		err = trust.Read(a.Home, newest).Err(a.Found)
	}
	if err != nil {
		return model.Request{}, err
	}
	if c.base, _, err = a.Home.Load(); err != nil {
		return model.Request{}, err
	}
	c.rules, c.unruled = a.Home.ReadRules()
	c.state = c.base.Clone()
	c.kept = a.previewKept()
	if err := a.prepare(c, unrecorded{}); err != nil {
		return model.Request{}, err
	}
	if len(further) > 0 {
		if err := a.offer(c, append(a.Tools.All(), further...)); err != nil {
			return model.Request{}, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.Timeout)
	defer cancel()
	return a.request(ctx, c)
}

// unrecorded is a journal that keeps nothing.
type unrecorded struct{}

func (unrecorded) Append(journal.Payload) error { return nil }
func (unrecorded) Sync() error                  { return nil }

// record opens the cycle's record: the event wake, then the snapshot _before.
func (a *Agent) record(c *cycle, settled string) error {
	texts := a.ingredients(c)
	wake := &journal.Wake{
		Settled: settled, Base: c.baseHash, Owner: proc.Self(), Mark: a.Mark, Warning: c.seal.warning,
		Version: a.Version, Made: sums(texts), Trust: c.trust,
	}
	if c.base.Large() {
		wake.Warning += "the memory is above 512 KiB, and each request to the model carries it"
	}
	if err := c.journal.Append(wake); err != nil {
		return err
	}
	a.keep(c, texts)
	c.left = a.look(wake.Made, c.baseHash)
	if err := a.compare(c); err != nil {
		return err
	}
	return c.base.Snapshot(laterSync{a.disk()}, a.Home.Before(c.id))
}

// laterSync leaves the name of _before to be made durable with that of _after:
// until then a cycle that loses it can be settled from active.yaml.
type laterSync struct{ disk.FS }

// SyncDir does nothing.
func (laterSync) SyncDir(string) error { return nil }

// name gives the cycle the first free id after the newest one, and opens its
// journal.
func (a *Agent) name(c *cycle, newest string) (err error) {
	for c.id = home.NextID(c.began, newest); ; c.id = home.NextID(c.began, c.id) {
		if exists(a.Home.Before(c.id)) || exists(a.Home.After(c.id)) {
			continue
		}
		c.journal, err = journal.Create(a.disk(), a.Home.Journal(c.id), journal.NewChain(c.seal.key, c.id), a.now)
		if err == nil {
			return a.attach(c)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// attach lets the journal also write the log for people.
func (a *Agent) attach(c *cycle) error {
	log, err := a.disk().OpenFile(a.Home.Log(c.id), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		c.journal.Close()
		return err
	}
	c.journal.Log, c.journal.Watch, c.journal.Redact = log, a.Watch, a.Redact.String
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
