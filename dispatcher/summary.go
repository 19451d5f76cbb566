package dispatcher

import (
	"context"
	"strings"

	"rouse/internal/text"
	"rouse/scratchpad/observation"
)

// What a model is asked to sum up: texts of so many bytes.
const (
	summaryFrom = 50_000
	summaryMost = 1_000_000
)

// summaryChars bounds what a model's summary takes of a view.
const summaryChars = 1500

// sumUp puts a model's summary beside the head and the tail of a text that was
// parked. Without one, or where the model fails, the view is as it was.
func (s *Shelf) sumUp(ctx context.Context, o *Observation) {
	if s.Summarise == nil || o.Kind == string(observation.Binary) || o.SizeBytes < summaryFrom || o.SizeBytes > summaryMost {
		return
	}
	whole, err := s.whole(o.ScratchpadID)
	if err != nil {
		return
	}
	said, err := s.Summarise(ctx, o.Tool, string(whole))
	if err != nil || strings.TrimSpace(said) == "" {
		return
	}
	o.Facts = strings.TrimSpace(o.Facts + "\nSummary by a model: " + text.Line(s.Redact.String(strings.TrimSpace(said)), summaryChars))
}
