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

// Counts that no server has are neither less than none nor more than can be added up.
func TestCounts(t *testing.T) {
	const huge = "9223372036854775807"
	for usage, want := range map[string]Usage{
		`{"prompt_tokens":` + huge + `,"completion_tokens":` + huge + `,"total_tokens":` + huge + `}`:          {Input: 1 << 40, Output: 1 << 40},
		`{"prompt_tokens":-7,"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":-1}}`:       {Output: 3},
		`{"input_tokens":7,"cache_read_input_tokens":` + huge + `,"cache_creation_input_tokens":` + huge + `}`: {Input: 7 + 2<<40, Cached: 1 << 40, Written: 1 << 40},
		`{"input_tokens":1000,"cache_read_input_tokens":-1000,"output_tokens":-1}`:                             {Input: 1000},
	} {
		a := answer{}
		a.count([]byte(usage))
		if a.countTokens([]byte(usage)); a.usage != want {
			t.Errorf("%s: %+v, want %+v", usage, a.usage, want)
		}
	}
}
