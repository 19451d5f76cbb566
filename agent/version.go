package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"

	"rouse/agent/history"
	"rouse/dispatcher/policy"
	"rouse/home"
	"rouse/internal/text"
	"rouse/journal"
	"rouse/scratchpad"
)

const notebookTool = "notebook"

// affect takes note of a call that is about to begin: before the first one that may
// change the workspace, that is kept as the cycle found it.
func (c *record) affect(d *journal.Intent) {
	c.cells = c.cells || d.Tool == notebookTool
	if c.effects || !effectOf(d).Touches(d.Tool) {
		return
	}
	c.effects = true
	if c.found != nil {
		c.found()
	}
}

// effectOf is what a call may have changed.
func effectOf(d *journal.Intent) policy.Effect {
	return policy.EffectOf(d.Tool, d.Effect, d.Args)
}

// version keeps the workspace as it is now, if it changed since the newest version and
// a call of the cycle may have had an effect. Nothing that goes wrong there fails a cycle.
func (k *Keeper) version(c *record, id string) {
	if k.History == nil || !c.effects || c.version == id {
		return
	}
	if err := k.keepVersion(c, id); err != nil {
		c.unkept = true
		// A journal that cannot be written is reported when the end is.
		_ = c.journal.Append(&journal.Warning{Text: unversioned + err.Error()})
	}
}

func (k *Keeper) keepVersion(c *record, id string) error {
	t, err := k.History.Take(k.Workspace, id)
	if t.Version != nil && t.Version.ID == id {
		c.version = id
		if failed := c.journal.Append(&journal.Kept{ID: id, Files: t.Version.Files(), Changed: t.Changed, Bytes: t.Bytes}); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s is there, but not noted: %w", id, failed))
		}
	}
	for _, w := range t.Warnings {
		_ = c.journal.Append(&journal.Warning{Text: w})
	}
	return err
}

// Files says how the workspace differs from before one cycle to after another, as far
// as versions of it are kept.
func Files(h home.Home, from, to string) ([]history.Change, error) {
	s := history.Store{Dir: h.History()}
	was, err := s.At(history.Before(from))
	if err != nil {
		return nil, err
	}
	is, err := s.At(history.After(to))
	if err != nil {
		return nil, err
	}
	if was.Of != is.Of {
		return nil, fmt.Errorf("the workspace was %s then, and %s later", was.Of, is.Of)
	}
	return history.Diff(was, is), nil
}

// Content reads a file of a version, at most so many bytes of it.
func Content(h home.Home, e history.Entry, most int64) ([]byte, error) {
	c := history.Store{Dir: h.History()}.Contents()
	defer c.Close()
	r, err := c.Of(e)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, most))
}

// maxText is the size up to which the text of a file is compared, in bytes.
const maxText = 256 << 10

// Texts are those of a file before and after a change, or why there are none to compare.
func Texts(h home.Home, c history.Change) (was, is, why string) {
	var texts [2]string
	for i, e := range []*history.Entry{c.Was, c.Is} {
		if e == nil || e.Kind != history.File {
			continue
		}
		data, err := Content(h, *e, maxText+1)
		if err != nil {
			return "", "", text.Line(err.Error(), 300)
		}
		if len(data) > maxText || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			return "", "", "is no text, or larger than 256 KiB"
		}
		texts[i] = string(data)
	}
	return texts[0], texts[1], ""
}

// MemoryOver says how the memory differs from before one cycle to after another.
func MemoryOver(h home.Home, from, to string) ([]scratchpad.Difference, error) {
	was, err := h.LoadFile(h.Before(from))
	if err != nil {
		return nil, Missing(h, h.Before(from), from, err)
	}
	is, err := h.LoadFile(h.After(to))
	if err != nil {
		return nil, Missing(h, h.After(to), to, err)
	}
	return scratchpad.Diff(was, is), nil
}

// Missing says of a snapshot that is not there why that may be.
func Missing(h home.Home, path, id string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cycle %s has no %s; it may be awake or interrupted, see rouse cycles", id, h.Rel(path))
	}
	return err
}
