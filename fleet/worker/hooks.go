package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

	"rouse/agent/inbox"
	"rouse/fleet/store"
	"rouse/internal/text"
	"rouse/setup"
)

// HookOrder is the order of what was proven at a hook, but for its input, which is a
// [setup.Received] as JSON: whoever may read orders does not learn the id, a secret of who sent it.
func HookOrder(hook, id string) []string {
	sum := sha256.Sum256([]byte(id))
	return []string{store.Hook, hook, hex.EncodeToString(sum[:8])}
}

// Delivered is what such an order brings; when it was made is the store's word.
func Delivered(o store.Order) (r setup.Received, is bool) {
	err := json.Unmarshal(o.Input, &r)
	r.At = o.Made
	return r, err == nil && slices.Equal(o.Argv, HookOrder(r.Hook, r.ID))
}

// receive makes a task of what was proven, once, and has the home woken if the hook wants that.
// Exit code 1 is what whoever sent it may know, 2 what is wrong with the home.
func (v *visit) receive(o store.Order, r setup.Received) store.Done {
	now := false
	s, err := v.open()
	if err == nil {
		_, now, err = s.Take(r, 0) // the door has counted
	}
	if err == nil && now {
		err = s.Slots().Ask(asked, v.now())
	}
	if err == nil {
		return store.Done{ID: o.ID, Said: "taken"}
	}
	v.problem = text.Line("refused what hook "+r.Hook+" received: "+err.Error(), 500)
	d := store.Done{ID: o.ID, Exit: 2, Said: text.Line(err.Error(), 2000)}
	if errors.Is(err, inbox.ErrFull) || errors.Is(err, fs.ErrNotExist) {
		d.Exit = 1
	}
	return d
}
