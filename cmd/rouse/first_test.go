package main

import (
	"os"
	"testing"

	"rouse/bench/o200k"
)

// The first request of a home as `rouse init` makes it stays small: it is paid for
// in each iteration of each cycle. `go run ./bench` prints it as a table.
func TestFirstRequest(t *testing.T) {
	r := newRig(t)
	if err := os.RemoveAll(r.home); err != nil {
		t.Fatal(err)
	}
	if o := r.rouse("init", r.home); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	s := r.serve(done())
	if o := r.rouse("run"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	parts, err := o200k.Of(s.Requests()[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	if all := parts[len(parts)-1]; all.Tokens > 1500 || len(parts) < 11 {
		t.Errorf("%d tokens in %d parts: %v", all.Tokens, len(parts)-1, parts)
	}
}
