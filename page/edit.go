package page

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"rouse/agent"
	"rouse/home"
	"rouse/setup/report"
)

// edit is a memory that somebody edits.
type edit struct {
	Text, Seen string
	Wrong      string // why it was not saved
	Now        string // what the memory is meanwhile, where it is another
}

// Hides says that the text has characters that do not show.
func (e edit) Hides() bool { return visible(e.Text) != e.Text }

func (e edit) sheet() sheet { return sheet{template: "edit", title: "Edit the memory", data: e} }

// showEdit shows the memory to be edited.
func (v *visit) showEdit() (sheet, error) {
	if v.who.role != Act {
		return sheet{}, wrong{http.StatusForbidden, errors.New("you may look, but not edit")}
	}
	if v.Fleet != nil {
		return v.unordered()
	}
	text, hash, err := v.home.MemoryText()
	if err != nil {
		return sheet{}, wrong{http.StatusConflict, err}
	}
	return edit{Text: string(text), Seen: hash}.sheet(), nil
}

// edit saves the memory. What was typed is never lost: where it is not saved it is shown
// again, and beside it what the memory is now, if that changed.
func (v *visit) edit() (sheet, error) {
	e := edit{Text: v.typed("text"), Seen: v.PostFormValue("seen")}
	err := v.home.EditMemory([]byte(e.Text), e.Seen)
	if err == nil {
		return v.told("the memory is saved")
	}
	e.Wrong = v.hide(err.Error())
	code := http.StatusBadRequest
	if now, hash, failed := v.home.MemoryText(); errors.Is(err, agent.ErrEdited) || errors.Is(err, home.ErrAwake) {
		code = http.StatusConflict
		if failed == nil && hash != e.Seen {
			e.Now, e.Seen = string(now), hash
		}
	}
	return e.sheet(), wrong{code, err}
}

// rewinding is what a rewind changes, to be looked at before it is done.
type rewinding struct {
	agent.Rewinding
	Keys  []report.Key
	Undo  bool
	Seen  string // the hash of what is shown
	Wrong string
}

// rewind shows what it changes to go back to before a cycle, or does what was shown.
func (v *visit) rewind() (sheet, error) {
	d := rewinding{Undo: v.PostFormValue("undo") != ""}
	r := agent.Rewind{Cycle: v.PostFormValue("cycle"), Memory: true, Files: true}
	var err error
	if d.Undo {
		r, err = agent.LastRewind(v.home.Home)
	} else if !home.ValidCycle(r.Cycle) || !v.home.Home.Knows(r.Cycle) {
		err = fmt.Errorf("there is no cycle %.40q: %w", r.Cycle, fs.ErrNotExist)
	}
	if err == nil {
		d.Rewinding, err = v.home.Rewind(r, false)
	}
	if err != nil {
		return sheet{}, err
	}
	what, _ := json.Marshal([]any{d.Rewinding.Keys, d.Changes, d.Left, r}) // plain values
	d.Keys, d.Seen = report.Keys(d.Rewinding.Keys, 0), fmt.Sprintf("%x", sha256.Sum256(what))
	shown := sheet{template: "rewind", title: "Back to before cycle " + r.Cycle, data: d, said: "looked at what it changes"}
	switch v.PostFormValue("seen") {
	case "":
		return shown, nil
	case d.Seen:
	default:
		d.Wrong = "what it changes is not what you were shown: look again"
		shown.data = d
		return shown, wrong{http.StatusConflict, errors.New(d.Wrong)}
	}
	if v.Fleet != nil && d.Undo {
		return v.order(v.path(), "rewind", "--undo", "--yes")
	} else if v.Fleet != nil {
		return v.order(v.path(), "rewind", r.Cycle, "--yes")
	}
	done, err := v.home.Rewind(r, true)
	if err != nil {
		return sheet{}, err
	}
	return v.told("put back to what was before cycle %s, as cycle %s; undoing the last rewind takes it back", r.Cycle, done.Done)
}
