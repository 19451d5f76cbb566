package dispatcher

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"rouse/journal"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// maxImage is the largest picture that a model is shown, in bytes, and maxImages
// how many of them at a time.
const (
	maxImage  = 1 << 20
	maxImages = 4
)

// IsPicture says whether a media type is one of a picture that models take.
func IsPicture(mediaType string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mediaType)
}

// keepMedia parks the pictures of a result and says in its metadata where.
func (s *Shelf) keepMedia(o *Observation, media []tools.Media) {
	var list []any
	for _, m := range media {
		m, secret := s.cleanMedia(m)
		entry := map[string]any{"type": m.Type, "bytes": len(m.Data)}
		if secret {
			entry["note"] = "not shown: it holds a secret"
		}
		id, err := s.parkBytes(o.Step, o.Tool, m.Data)
		if err != nil {
			entry["note"] = "not kept: " + s.Redact.String(err.Error())
		} else {
			entry["scratchpad_id"], m.ID = id, id
		}
		list = append(list, entry)
		if !secret {
			o.show(m)
		}
	}
	if list == nil {
		return
	}
	if o.Metadata == nil {
		o.Metadata = map[string]any{}
	}
	o.Metadata["media"] = list
}

// cleanMedia takes the secrets out of a text. Other contents are kept as they
// are, and redacted when they are read; one that holds a secret is not shown.
func (s *Shelf) cleanMedia(m tools.Media) (clean tools.Media, secret bool) {
	m.Type = s.Redact.String(m.Type)
	if observation.IsText(m.Data) {
		m.Data = []byte(s.Redact.String(string(m.Data)))
		return m, false
	}
	secret, _ = s.Redact.Found(bytes.NewReader(m.Data)) // a reader of bytes does not fail
	return m, secret
}

// show adds a picture that is small enough.
func (o *Observation) show(m tools.Media) {
	if IsPicture(m.Type) && len(m.Data) <= maxImage && len(o.Images) < maxImages {
		m.Sum = fmt.Sprintf("%x", sha256.Sum256(m.Data))
		o.Images = append(o.Images, m)
	}
}

// medium is a picture or another binary content of a step, or what is said of it.
func (d *Dispatcher) medium(metadata any, path []string) (referred, error) {
	found, err := field(metadata, path)
	entry, ok := found.(map[string]any)
	id, kept := entry["scratchpad_id"].(string)
	switch {
	case err != nil || !ok:
		return referred{value: found}, err
	case !kept || entry["note"] != nil:
		return referred{}, fmt.Errorf("%s cannot be passed on: %v", strings.Join(path, "."), cmp.Or(entry["note"], any("it was not kept")))
	}
	size, err := strconv.ParseInt(fmt.Sprint(entry["bytes"]), 10, 64)
	return referred{size: size, binary: true, open: func() (io.ReadCloser, error) { return d.open(id) }}, err
}

// noText says that a step gave no text, and what it gave instead.
func noText(o Observation) error {
	if list, _ := o.Metadata["media"].([]any); len(list) > 0 {
		return fmt.Errorf("step %d gave no text but %d media: the first is {{step%d.media.0}}", o.Step, len(list), o.Step)
	}
	return fmt.Errorf(`step %d gave no text; write "" where you mean an empty one`, o.Step)
}

// showParked shows a content that was parked, if it is a picture.
func (s *Shelf) showParked(o *Observation, mediaType string) {
	if !IsPicture(mediaType) || o.SizeBytes > maxImage {
		return
	}
	data, err := s.whole(o.ScratchpadID)
	if err != nil {
		return
	}
	o.show(tools.Media{Type: mediaType, Data: data, ID: o.ScratchpadID})
}

// whole is a content that is small enough to be held in memory.
func (s *Shelf) whole(id string) ([]byte, error) {
	c, err := s.open(id)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return io.ReadAll(c)
}

// errNoStore says that this cycle keeps no observations.
var errNoStore = errors.New("there is no store of observations")

// parkBytes puts a content of its own into the store.
func (s *Shelf) parkBytes(step int, from string, data []byte) (id string, err error) {
	turn, err := s.begun()
	if err != nil {
		return "", err
	}
	w := turn.Create(observation.Origin{Step: step, Executor: from})
	w.Write(data)
	entry, err := w.Commit(nil)
	if err != nil {
		return "", err
	}
	s.shelved = true
	return entry.ID, nil
}

// ParkText parks a text that leaves the conversation, and gives its id.
func (d *Dispatcher) ParkText(from, text string) (id string, err error) {
	return d.park(0, from, []byte(text), d.parkBytes)
}

// memoryStays is how long a part of the memory stays parked.
const memoryStays = 30 * 24 * time.Hour

// ParkState parks a part of the memory that is too large to be shown, once for each of
// its versions, also in later cycles.
func (d *Dispatcher) ParkState(from, text string) (id string, err error) {
	return d.park(0, from, []byte(text), func(step int, from string, data []byte) (string, error) {
		turn, err := d.begun()
		if err != nil {
			return "", err
		}
		id, err := turn.Lasting(observation.Origin{Step: step, Executor: from}, data, memoryStays)
		d.shelved = d.shelved || err == nil
		return id, err
	})
}

// park puts a content that leaves the conversation into the store, and where it
// is into the journal: the model is told.
func (d *Dispatcher) park(step int, from string, data []byte, put func(int, string, []byte) (string, error)) (id string, err error) {
	if d.Parked != nil {
		id, err = d.Parked()
		d.shelved = d.shelved || err == nil
		return id, err
	}
	id, err = put(step, from, data)
	event := &journal.Parked{Step: step, From: from, ID: id}
	if err != nil {
		event.Error = d.Redact.String(err.Error())
	}
	// A journal that cannot be written is met again at the next request.
	_ = d.Journal.Append(event)
	return id, err
}

// Park parks the content of an observation that leaves the conversation,
// whatever its size, and gives the observation without it. What can be had from
// the store already is not put there again.
func (d *Dispatcher) Park(o Observation) (Observation, error) {
	o.Images = nil
	if o.ScratchpadID != "" || o.Content == nil && o.Error == "" {
		return o, nil
	}
	if o.Tool == readName {
		o.ScratchpadID, _ = o.Metadata["scratchpad_id"].(string)
		o.Content = nil
		return o, nil
	}
	text := o.text()
	if len(o.Error) > noteRunes {
		text = o.Error + "\n" + text
	}
	id, err := d.park(o.Step, o.Tool, []byte(text), d.parkBytes)
	if err != nil {
		return o, err
	}
	o.ScratchpadID, o.SizeBytes, o.Content = id, int64(len(text)), nil
	if past, ok := d.past[o.Step]; ok && len(o.Error) <= noteRunes {
		past.ScratchpadID, past.SizeBytes, past.Content, past.Images = id, o.SizeBytes, nil, nil
		d.past[o.Step] = past
	}
	if meta, err := json.Marshal(o.Metadata); err != nil || len(meta) > noteRunes {
		o.Metadata = nil
	}
	return o, nil
}
