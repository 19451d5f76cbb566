package setup

import (
	"fmt"
	"strings"
	"testing"

	"rouse/dispatcher"
	"rouse/dispatcher/policy"
)

// Who sits at the terminal sees the call and answers; all else is for later.
func TestAnswerAt(t *testing.T) {
	var out strings.Builder
	ask := open(t, nil).AnswerAt(strings.NewReader("y go on\nNo  \nwhat?\n"), &out)
	got := ""
	for range 4 {
		said := ask(dispatcher.Asked{Step: 3, Call: policy.Call{Tool: "shell", Args: []byte(`{"command":"git \u202epush"}`)}, Decision: policy.Decision{Rule: "policy[0]", Why: "mine"}})
		got += fmt.Sprintf("%s %s;", said.Decision, said.Why)
	}
	if got != "approve go on;denied ; ; ;" || !strings.Contains(out.String(), "policy[0]: mine") || strings.Contains(out.String(), "\u202e") {
		t.Error(got, out.String())
	}
}
