package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"rouse/tools"
)

// A tool is a function of typed arguments, and the prose that a model reads.
func ExampleNew() {
	type args struct {
		Minutes int `json:"minutes" jsonschema:"how long to water, in minutes"`
	}
	water := tools.New("water", "Water the plants.", func(_ context.Context, _ tools.Call, a args) tools.Result {
		if a.Minutes > 10 {
			return tools.Fail("%d minutes would drown them; ask for 10 at most", a.Minutes)
		}
		return tools.Result{OK: true, Content: fmt.Sprintf("watered for %d minutes", a.Minutes)}
	})
	for _, text := range []string{`{"minutes": 3}`, `{"minutes": 99}`, `{"hours": 1}`} {
		call := tools.Call{Args: json.RawMessage(text), Output: io.Discard}
		if err := water.Check(call.Args); err != nil {
			fmt.Println("refused:", err)
			continue
		}
		r := water.Run(context.Background(), call)
		if !r.OK {
			fmt.Println("failed:", r.Error)
			continue
		}
		fmt.Println(r.Content)
	}
	// Output:
	// watered for 3 minutes
	// failed: 99 minutes would drown them; ask for 10 at most
	// refused: validating root: unexpected additional properties ["hours"]
}
