package dispatcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"rouse/journal"
	"rouse/tools"
)

// Recorded is what a journal has of a call.
type Recorded struct {
	Result  *journal.Result
	Line    json.RawMessage // that the result is
	Begun   bool            // it was carried out
	Refused []string        // what the sandbox kept its process from
	From    []string        // where its text came from, if that was new
	// Consent is what was said of it before: of policy and of approvals.
	Consent []journal.Payload
}

// prepare resolves the references in the arguments of a call, and checks what comes
// out. Of a call that is made again, the journal says what came of that: what a
// tool takes is not all in the copy of it.
func (d *Dispatcher) prepare(tool tools.Tool, o *Observation) (*resolver, json.RawMessage, error) {
	if d.Past == nil {
		r, args, err := d.resolve(tool, o)
		if err == nil {
			if err = tool.Check(args); err != nil {
				r.close()
			}
		}
		return r, args, err
	}
	then, err := d.Past(o.Step)
	if err != nil || then.Begun {
		return &resolver{}, nil, nil // why there is nothing is met when the call begins
	}
	if why, refused := strings.CutPrefix(then.Result.Error, badArguments); refused {
		return nil, nil, errors.New(why)
	}
	return &resolver{}, nil, nil
}

// OnShelf says whether a tool reads what is on the shelf: it is offered once there is
// something.
func OnShelf(tool string) bool { return tool == readName || tool == keepName }

// again gives a call the result that it had.
func (d *Dispatcher) again(o *Observation) error {
	then, err := d.Past(o.Step)
	if err != nil {
		return err
	}
	told, err := d.Told(Action{Tool: o.Tool, Args: o.Args}, then.Result, then.Line)
	if err != nil {
		return fmt.Errorf("the result of step %d: %w", o.Step, err)
	}
	told.Step, told.Tool, told.Args, told.Warning, told.refused, told.approved = o.Step, o.Tool, o.Args, "", then.Refused, o.approved
	told.size, told.parked, told.evidence = then.Result.SizeBytes, then.Result.SHA256, o.evidence
	told.from = then.From
	told.sum = fmt.Sprint(told.size, told.Facts)
	told.partial = told.ScratchpadID == "" && told.size != int64(len(told.text()))
	d.shelved = d.shelved || bytes.Contains(then.Line, []byte(`"scratchpad_id":`))
	*o = told
	return nil
}
