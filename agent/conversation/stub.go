package conversation

import (
	"cmp"
	"fmt"

	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/internal/text"
	"rouse/tools"
)

// stubTokens is about what a stub costs: a result that costs no more stays.
const stubTokens = 80

// name is what a result is called in the journal.
func name(o dispatcher.Observation) string {
	return cmp.Or(o.ScratchpadID, fmt.Sprintf("step%d", o.Step))
}

func isSmall(o dispatcher.Observation) bool {
	o.Tool, o.Args = "", nil
	return Est(encode(o)) <= stubTokens
}

// stub parks what a result holds and gives what stands in its place. facts are
// what the model wrote down of it.
func (c *Options) stub(o dispatcher.Observation, facts string) dispatcher.Observation {
	size := max(o.SizeBytes, int64(len(encode(o.Content))))
	what := fmt.Sprintf("Pruned: what %s gave back, %d bytes.", cmp.Or(o.Tool, "the call"), size)
	parked, err := o, error(nil)
	if c.Park != nil {
		parked, err = c.Park(o)
	}
	s := dispatcher.Observation{
		Step: o.Step, Tool: o.Tool, Args: o.Args, OK: o.OK, ScratchpadID: parked.ScratchpadID, SizeBytes: size, Kind: o.Kind,
		Error: text.Brief(o.Error, 300),
	}
	switch {
	case err != nil:
		s.Summary = text.Brief(fmt.Sprint(o.Content), 300)
		what += " It could not be kept: " + c.Redact.String(err.Error())
	case s.ScratchpadID != "":
		what += " Read it again with scratchpad_read."
	}
	if facts != "" {
		what += " Facts you recorded: " + text.Brief(facts, 400)
	}
	s.Note = what
	return s
}

func images(list []tools.Media) (all []model.Image) {
	for _, m := range list {
		all = append(all, model.Image{Type: m.Type, Data: m.Data, Sum: m.Sum})
	}
	return all
}
