package dispatcher

import (
	"context"
	"io"
	"strings"

	"rouse/internal/redact"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// Shelf is where observations that are too large to be shown are kept, and read
// again in parts. The fields are set once; [Shelf.Observe] is for one goroutine
// at a time.
type Shelf struct {
	// Redact takes the secrets out of everything that a tool gives back.
	Redact *redact.Redactor
	// Turn gives the place where large observations are kept, and opens it when
	// it is first asked; nil keeps none.
	Turn func() (*observation.Turn, error)
	// Shared is what other homes share with this one.
	Shared observation.Shared
	// Contents, unless nil, gives what is there in a cycle that is run again.
	Contents func(id string) (*observation.Content, error)
	// Summarise, unless nil, asks a model to sum up a text that a tool gave back.
	Summarise func(ctx context.Context, tool, text string) (string, error)
	// Threshold is the size from which an observation is kept there, in bytes of
	// its JSON; 0 is 4096.
	Threshold int
	// MaxAnswer is the most that one scratchpad_read gives back, in bytes; it is
	// at most 16 KiB, and 0 is that.
	MaxAnswer int
	// Alone says that nobody resolves references to earlier results, so that
	// none are spoken of.
	Alone bool

	// shelved says that there is something to read, and unparked why nothing can
	// be put there.
	shelved  bool
	unparked error
}

// Observe fills in o with what produce gives back, without secrets: whole if it
// is small, else as a synthetic view of what is then on the shelf. o has its
// step and its tool.
func (s *Shelf) Observe(ctx context.Context, o *Observation, produce func(out io.Writer) tools.Result) {
	out := newOutput(s.threshold(o))
	out.begin = func() *observation.Writer { return s.newWriter(o) }
	clean := s.Redact.Writer(out)
	res := produce(clean)
	clean.Close()
	if o.whole = res.Whole; res.Content != nil {
		content := Observation{Content: s.Redact.Any(res.Content)}
		out.Write([]byte(content.text()))
	}
	o.OK, o.Error = res.OK, s.Redact.String(res.Error)
	for _, r := range res.Refused {
		o.refused = append(o.refused, s.Redact.String(r.String()))
	}
	o.Metadata, _ = s.Redact.Any(res.Metadata).(map[string]any)
	s.keepMedia(o, res.Media)
	s.present(ctx, o, out)
}

// get gives what is on the shelf under an id.
func (s *Shelf) get(id string) (*observation.Content, error) {
	if s.Contents != nil {
		return s.Contents(id)
	}
	if strings.HasPrefix(id, observation.SharedPrefix) {
		return s.Shared.Get(id)
	}
	turn, err := s.begun()
	if err != nil {
		return nil, err
	}
	return turn.Get(id)
}

// begun is the place where the cycle's own are.
func (s *Shelf) begun() (*observation.Turn, error) {
	if s.Turn == nil {
		return nil, errNoStore
	}
	return s.Turn()
}

// open gives the reader of what is there.
func (s *Shelf) open(id string) (io.ReadCloser, error) {
	c, err := s.get(id)
	if err != nil {
		return nil, err
	}
	return Opened(c), nil
}

// Reader is scratchpad_read, the tool that reads what is on the shelf. It may be
// used by several goroutines.
func (s *Shelf) Reader() tools.Tool {
	text := strings.TrimSpace(readText)
	if !s.Alone {
		text += readReference
	}
	read := tools.New(readName, text, s.read)
	read.ReadOnly = true
	return read
}
