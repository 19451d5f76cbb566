package dispatcher_test

import (
	"context"
	"encoding/json"
	"fmt"

	"rouse/dispatcher"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

// printed is a journal that shows which events a dispatcher records.
type printed struct{}

func (printed) Append(p journal.Payload) error {
	fmt.Printf("journal: %T\n", p)
	return nil
}
func (printed) Sync() error { return nil }

// One action goes in, one observation comes out, and what happened is in the
// journal before the next thing does.
func ExampleDispatcher_Do() {
	set, err := tools.NewSet(tools.Echo())
	if err != nil {
		panic(err)
	}
	memory := scratchpad.New()
	if err := memory.Apply(scratchpad.Change{Op: scratchpad.OpSet, Key: "current_task", Value: "greet"}); err != nil {
		panic(err)
	}
	d := &dispatcher.Dispatcher{Tools: set, State: memory, Journal: printed{}}
	for _, a := range []dispatcher.Action{
		{Tool: "echo", Args: json.RawMessage(`{"message": "hello"}`)},
		{Tool: "echo", Args: json.RawMessage(`{"mesage": "hello"}`)},
		{Tool: "done", Args: json.RawMessage(`{"summary": "greeted"}`)},
	} {
		o, err := d.Do(context.Background(), a)
		if err != nil {
			panic(err)
		}
		if !o.OK {
			fmt.Printf("step %d, for the model to read: %s\n", o.Step, o.Error)
			continue
		}
		fmt.Printf("step %d: %v, done %v\n", o.Step, o.Content, o.Done)
	}
	fmt.Println("completed:", len(memory.Completed()))
	// Output:
	// journal: *journal.Intent
	// journal: *journal.Result
	// step 1: ECHO: hello, done false
	// journal: *journal.Result
	// step 2, for the model to read: arguments: validating root: unexpected additional properties ["mesage"]
	// journal: *journal.State
	// journal: *journal.Result
	// step 3: greeted, done true
	// completed: 1
}
