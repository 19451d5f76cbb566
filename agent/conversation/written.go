package conversation

import (
	"errors"
	"fmt"
	"slices"

	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/tools"
)

// ErrWritten says that a reply is a call as text, in a protocol that has another
// way for it, and of a tool that may have an effect.
var ErrWritten = errors.New("a call as text")

// written is the call that all of a text is, or nil.
func written(text string, described []model.Tool) *dispatcher.Bare {
	return dispatcher.ParseBare(text, func(tool, param string) bool {
		i := slices.IndexFunc(described, func(t model.Tool) bool { return t.Name == tool })
		return i < 0 || tools.TakesText(described[i].Parameters, param)
	})
}

// take says whether a call that was written as text is carried out. It may be a
// quotation, so that it is taken as damaged JSON is: for tools that change nothing,
// unless one is sure that the model calls this way.
func (o Options) take(b *dispatcher.Bare, sure bool) error {
	if o.Wrote != nil {
		o.Wrote(b.Form)
	}
	if sure && b.Strict || o.Repairable != nil && o.Repairable(b.Tool) {
		return nil
	}
	return fmt.Errorf("%w: %.80q was not carried out, since a text may be a quotation", ErrWritten, b.Tool)
}
