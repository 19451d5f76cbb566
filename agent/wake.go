package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/agent/trust"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// maxNote bounds one line that the agent adds to the notes, in characters.
const maxNote = 1000

// wake locks the home, settles an interrupted cycle, loads the state, opens the
// journal and writes the snapshot _before. The options are those of the store of
// observations.
func (k *Keeper) wake(o observation.Options) (*woken, error) {
	if err := k.Home.MakeFolders(k.disk()); err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	unlock, err := k.Home.Lock()
	if err != nil {
		return nil, err
	}
	w, err := k.open()
	if err != nil {
		unlock()
		return nil, err
	}
	w.unlock = unlock
	w.shelf = newShelf(k.Home.Memory(), w.id, o, w.journal)
	return w, nil
}

// open is wake in a locked home.
func (k *Keeper) open() (*woken, error) {
	newest, err := k.Home.Newest()
	if err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	seal, err := k.seal()
	if err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	known, settled := trust.Read(k.Home, seal.key, newest), ""
	if known.Slept != newest {
		if settled, err = k.settleIf(newest, &seal); err != nil {
			return nil, err
		}
	}
	if settled != "" {
		known, k.seen = trust.Read(k.Home, seal.key, newest), seen{}
	}
	w, err := k.find(known)
	if err != nil {
		return nil, err
	}
	if err := k.bringUp(&seal); err != nil {
		return nil, err
	}
	if err := k.name(w, newest, seal.key); err != nil {
		return nil, fmt.Errorf("wake: %w", err)
	}
	wake := &journal.Wake{Settled: settled, Base: w.baseHash, Owner: proc.Self(), Mark: k.Mark, Warning: seal.warning, Version: k.Version, Trust: w.trust, Sandbox: k.Sandbox}
	if err := k.record(w, wake); err != nil {
		w.journal.Close()
		k.unslept(w.id, err)
		return nil, fmt.Errorf("wake: %w", err)
	}
	return w, nil
}

// bringUp makes a home whose memory was read what a cycle needs to be sealed.
func (k *Keeper) bringUp(s *seal) (err error) {
	if !s.raise {
		return k.keepKey(s)
	}
	s.key, err = k.Home.Raise(k.disk())
	return err
}

// find is the home as a cycle finds it, which has no name yet.
func (k *Keeper) find(known trust.Known) (w *woken, err error) {
	w = &woken{began: k.now(), known: known}
	if err := w.known.Err(k.Found); err != nil {
		return nil, err
	}
	w.trust = w.known.Next(k.Found)
	if w.base, w.baseHash, err = k.load(); err != nil {
		return nil, err
	}
	w.state = w.base.Clone()
	w.rules, w.unruled = k.Home.ReadRules()
	return w, nil
}

// seen is the memory as it was read last.
type seen struct {
	stat disk.Stamp
	base *scratchpad.State
	hash string
}

// load reads the memory, unless stat says that it still is as [Agent.Preview] read
// it. An edit that stat does not show counts as one made after the wake: sleep asks
// for the hash, and merges.
func (k *Keeper) load() (base *scratchpad.State, hash string, err error) {
	stat := disk.StampOf(k.Home.Active())
	if k.seen.base == nil || k.seen.stat != stat {
		base, hash, err = k.Home.Load()
		k.seen = seen{stat, base, hash}
	}
	return k.seen.base, k.seen.hash, err
}

// Preview is the request that a cycle would send first, with these tools beside
// those that need nothing running. It changes nothing.
func (a *Agent) Preview(further ...tools.Tool) (model.Request, error) {
	req, _, err := a.preview(further)
	return req, err
}

// Foresee says what of the next cycle will not be as it should, as [Agent.Preview] has
// it: tools that are left out, and what does not fit into a request.
func (a *Agent) Foresee(further ...tools.Tool) (problems []string, err error) {
	req, problems, err := a.preview(further)
	if err != nil {
		return problems, err
	}
	if tokens := conversation.EstRequest(req); a.MaxTokens > 0 && tokens > a.MaxTokens {
		rules := conversation.Est(req.Messages[0].Content)
		problems = append(problems, fmt.Sprintf("the first request takes about %d tokens, of which rules.md and what Rouse says with them are %d, and conversation.max_tokens is %d: shorten rules.md, or raise it", tokens, rules, a.MaxTokens))
	}
	return problems, nil
}

func (a *Agent) preview(further []tools.Tool) (model.Request, []string, error) {
	newest, err := a.Home.Newest()
	if err != nil {
		return model.Request{}, nil, err
	}
	key, err := a.Home.Key()
	if err != nil {
		return model.Request{}, nil, err
	}
	w, err := a.find(trust.Read(a.Home, key, newest))
	if err != nil {
		return model.Request{}, nil, err
	}
	if w.unruled != nil {
		return model.Request{}, nil, Unruled(a.Home, w.unruled)
	}
	w.iterations.Add(1)
	c := a.newCycle(w, unrecorded{}, a.previewKept())
	if err := cmp.Or(c.remember(), c.choose(a.Task)); err != nil {
		return model.Request{}, nil, err
	}
	if len(further) > 0 {
		if err := c.offer(append(a.Tools.All(), further...)); err != nil {
			return model.Request{}, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.Timeout)
	defer cancel()
	said := c.ahead(ctx)
	req, _, err := c.compose(&said, c.dispatcher.Offered())
	return req, c.remarks, err
}

// unrecorded is a journal that keeps nothing.
type unrecorded struct{}

func (unrecorded) Append(journal.Payload) error { return nil }
func (unrecorded) Sync() error                  { return nil }

// record opens the cycle's record: the event wake, then the snapshot _before.
func (k *Keeper) record(w *woken, wake *journal.Wake) error {
	texts := k.ingredients(w.rules)
	wake.Made = sums(texts)
	if w.base.Large() {
		wake.Warning += "the memory is above 512 KiB, and each request to the model carries it"
	}
	if err := w.journal.Append(wake); err != nil {
		return err
	}
	k.keep(w.journal, texts)
	w.left = k.look(wake.Made, w.baseHash)
	if err := k.compare(w); err != nil {
		return err
	}
	return w.base.Snapshot(laterSync{k.disk()}, k.Home.Before(w.id))
}

// laterSync leaves the name of _before to be made durable with that of _after:
// until then a cycle that loses it can be settled from active.yaml.
type laterSync struct{ disk.FS }

// SyncDir does nothing.
func (laterSync) SyncDir(string) error { return nil }

// name gives the cycle the first free id after the newest one, and opens its
// journal.
func (k *Keeper) name(w *woken, newest string, key []byte) (err error) {
	for w.id = home.NextID(w.began, newest); ; w.id = home.NextID(w.began, w.id) {
		if disk.Exists(k.Home.Before(w.id)) || disk.Exists(k.Home.After(w.id)) {
			continue
		}
		w.journal, err = journal.Create(k.disk(), k.Home.Journal(w.id), journal.NewChain(key, w.id), k.now)
		if err == nil {
			return k.attach(&w.record)
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// attach lets the journal also write the log for people.
func (k *Keeper) attach(c *record) error {
	log, err := k.disk().OpenFile(k.Home.Log(c.id), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		c.journal.Close()
		return err
	}
	c.journal.Log, c.journal.Watch, c.journal.Redact = log, k.Watch, k.Redact.String
	return nil
}
