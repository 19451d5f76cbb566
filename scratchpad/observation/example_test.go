package observation_test

import (
	"context"
	"fmt"
	"os"

	"rouse/internal/proc"
	"rouse/scratchpad/observation"
)

// A cycle puts what a tool gave back into its turn, and reads parts of it.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := observation.Open(dir, observation.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	turn, err := store.Begin("20260401_150154", proc.Self())
	if err != nil {
		panic(err)
	}
	w := turn.Create(observation.Origin{Step: 1, Executor: "shell"})
	for n := range 100_000 {
		fmt.Fprintf(w, "line %d\n", n+1)
	}
	entry, err := w.Commit(nil)
	if err != nil {
		panic(err)
	}
	content, err := turn.Get(entry.ID)
	if err != nil {
		panic(err)
	}
	defer content.Close()
	found, err := content.Grep(context.Background(), observation.Query{Pattern: "line 77777$"})
	if err != nil {
		panic(err)
	}
	fmt.Println(entry.Lines, "lines; line", found.Lines[0].Number, "is:", found.Lines[0].Text)
	// Output: 100000 lines; line 77777 is: line 77777
}
