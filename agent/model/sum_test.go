package model

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// The sum of a request never changes: journals have it, and replay compares it.
func TestHash(t *testing.T) {
	long := strings.Repeat("löng ", 1000)
	r := Request{
		Messages: []Message{{Role: User, Content: long}, {Role: Assistant, Calls: []Call{{ID: "1", Name: "echo", Args: []byte("{}")}}}},
		Tools:    []Tool{{Name: "echo", Description: "Says it.", Parameters: []byte(`{"type":"object"}`)}},
	}
	want := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "7 message4 user%d %s0 7 message9 assistant0 0 4 call1 14 echo2 {}4 tool4 echo8 Says it.17 {\"type\":\"object\"}", len(long), long)))
	if got := r.Hash(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
