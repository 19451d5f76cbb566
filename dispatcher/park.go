package dispatcher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"rouse/internal/object"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// defaultThreshold is the size from which an observation is parked, in bytes of
// its JSON.
const defaultThreshold = 4096

// maxMetadata is how much metadata is shown of a parked observation, in bytes;
// more is parked with the content.
const maxMetadata = 1024

// maxField is how large a text may be that a reference looks into, in bytes.
const maxField = 8 << 20

const parkedNote = "Large observation saved in the scratchpad. To read it in full or in part, use scratchpad_read."

// threshold is the one for an observation, from which on it is parked.
func (s *Shelf) threshold(o *Observation) int {
	if s.Threshold <= 0 {
		return max(defaultThreshold, o.shown)
	}
	return max(s.Threshold, o.shown)
}

// newWriter begins to park what a step gives back; nil if it cannot be parked.
func (s *Shelf) newWriter(o *Observation) *observation.Writer {
	if s.Turn == nil || o.Tool == readName || o.whole {
		return nil
	}
	turn, err := s.Turn()
	if err != nil {
		s.unparked = err
		return nil
	}
	return turn.Create(observation.Origin{Step: o.Step, Executor: o.Tool})
}

// present fills in what the model sees of the content: all of it if it is a
// small text, else a synthetic view of what is parked, else its beginning and end.
func (s *Shelf) present(ctx context.Context, o *Observation, out *output) {
	o.size, o.sum = out.ends.Total, out.digest()
	if out.writer == nil {
		o.Content, o.partial = out.text(), !out.isExact()
		if s.fits(o) || !out.park() {
			s.tellUnparked(o)
			return
		}
		o.partial = false
	}
	meta, err := json.Marshal(o.Metadata)
	if err != nil {
		meta = nil
	}
	entry, err := out.writer.Commit(meta)
	o.size, o.sum = entry.Bytes, entry.SHA256
	if err != nil {
		o.partial = true
		o.Content, o.Note = entry.Summary, "This is only the beginning and the end: the content could not be kept: "+s.Redact.String(err.Error())
		return
	}
	o.Content, o.ScratchpadID, o.SizeBytes, o.parked = nil, entry.ID, entry.Bytes, entry.SHA256
	o.Kind, o.Summary, o.Facts, o.Note = string(entry.Kind), entry.Summary, entry.Facts, parkedNote
	if len(meta) > maxMetadata {
		o.Metadata = brief(o.Metadata)
	}
	s.shelved = true
	s.showParked(o, entry.MIME)
	s.sumUp(ctx, o)
}

// brief is the shortest fields of metadata, as many as may be shown.
func brief(meta map[string]any) map[string]any {
	size := map[string]int{}
	for name, v := range meta {
		text, _ := json.Marshal(map[string]any{name: v}) // all of it was JSON
		size[name] = len(text)
	}
	some, room := map[string]any{}, maxMetadata
	for _, name := range slices.SortedFunc(maps.Keys(meta), func(a, b string) int {
		return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b))
	}) {
		if room -= size[name]; room >= 0 {
			some[name] = meta[name]
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some
}

// fits says whether an observation is shown as it is. Its arguments do not count:
// the model wrote them, and parking what came of them makes them no shorter.
func (s *Shelf) fits(o *Observation) bool {
	if o.Tool == readName || o.whole {
		return true
	}
	if o.partial {
		return false
	}
	given := *o
	given.Args = nil
	text, err := json.Marshal(given)
	return err == nil && len(text) <= s.threshold(o)
}

// tellUnparked says why what is not shown of a content is not kept either.
func (s *Shelf) tellUnparked(o *Observation) {
	if s.unparked != nil && (o.partial || o.size > int64(s.threshold(o))) {
		o.Note = "The content is not kept beyond what is shown: " + s.Redact.String(s.unparked.Error())
	}
}

// resolve puts the values of earlier steps in the place of references.
func (d *Dispatcher) resolve(tool tools.Tool, o *Observation) (*resolver, json.RawMessage, error) {
	r := &resolver{tool: tool, lookup: d.lookup, shared: d.shared, streams: map[string]io.ReadCloser{}}
	args := r.resolve(o.Args)
	if r.err != nil {
		r.close()
		return nil, nil, r.err
	}
	return r, args, nil
}

// lookup finds what a reference names: a field of an earlier step's observation.
func (d *Dispatcher) lookup(step int, path []string) (referred, error) {
	o, ok := d.past[step]
	if !ok {
		return referred{}, fmt.Errorf("there is no step %d before this one", step)
	}
	if path[0] == "content" {
		return d.content(o, path[1:])
	}
	var fields map[string]any
	text, err := json.Marshal(o)
	if err == nil {
		err = object.Decode(text, &fields)
	}
	if err != nil {
		return referred{}, err
	}
	if (path[0] == "metadata" || path[0] == "media") && o.ScratchpadID != "" {
		if err := d.addMetadata(fields, o.ScratchpadID); err != nil {
			return referred{}, err
		}
	}
	if path[0] == "media" {
		return d.medium(fields["metadata"], path)
	}
	v, err := field(fields, path)
	return referred{value: v}, err
}

// shared finds what a reference to something names that another home shares. The cycle has
// its origins from then on, before anything is decided about the call.
func (d *Dispatcher) shared(id string, path []string) (referred, error) {
	c, err := d.get(observation.SharedPrefix + id)
	if err != nil {
		return referred{}, err
	}
	defer c.Close()
	from := c.From
	if d.Past != nil {
		then, _ := d.Past(d.step)
		from = then.From
	} else if d.Watch == nil {
		from = nil
	}
	if err := d.Learn(d.step, from); err != nil {
		return referred{}, err
	}
	if path[0] != "content" {
		return referred{}, fmt.Errorf("there is no %s: write {{%s.content}}", path[0], c.ID)
	}
	return d.content(Observation{ScratchpadID: c.ID, SizeBytes: c.Bytes}, path[1:])
}

// addMetadata puts the metadata that were parked with a content in the place of
// those that were shown of them.
func (d *Dispatcher) addMetadata(fields map[string]any, id string) error {
	c, err := d.get(id)
	if err != nil {
		return err
	}
	defer c.Close()
	var all any
	if len(c.Metadata) == 0 || object.Decode(c.Metadata, &all) != nil || all == nil {
		return nil
	}
	fields["metadata"] = all
	return nil
}

// content is the real content of a step, not the view of it, or a part of it
// where it is JSON.
func (d *Dispatcher) content(o Observation, path []string) (referred, error) {
	if o.partial {
		return referred{}, fmt.Errorf("only a part of the content of step %d was kept, so it cannot be passed on: call the tool again with its output in a file", o.Step)
	}
	if o.ScratchpadID == "" && o.text() == "" {
		return referred{}, noText(o)
	}
	if o.ScratchpadID == "" {
		return inside(o.text(), path)
	}
	if len(path) == 0 {
		return referred{size: o.SizeBytes, open: func() (io.ReadCloser, error) { return d.open(o.ScratchpadID) }}, nil
	}
	if o.SizeBytes > maxField {
		return referred{}, fmt.Errorf("the content has %d bytes, too many to look into; use scratchpad_read with mode json", o.SizeBytes)
	}
	text, err := d.whole(o.ScratchpadID)
	if err != nil {
		return referred{}, err
	}
	return inside(string(text), path)
}

// inside follows a path into a text that is JSON; without one it is the text.
func inside(text string, path []string) (referred, error) {
	if len(path) == 0 {
		return referred{value: text}, nil
	}
	var v any
	if err := object.Decode([]byte(text), &v); err != nil {
		return referred{}, errors.New("the content is not JSON, so it has no fields")
	}
	found, err := field(v, path)
	return referred{value: found}, err
}

// opened is a content with the reader that goes through it.
type opened struct {
	io.Reader
	*observation.Content
}

// Opened reads a content from its beginning, and closes it.
func Opened(c *observation.Content) io.ReadCloser { return opened{c.Reader(), c} }
