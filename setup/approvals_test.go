package setup

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"rouse/dispatcher"
	"rouse/dispatcher/policy"
)

// person reads questions and types an answer to each; then the terminal is gone.
type person struct {
	strings.Builder
	keys    *os.File
	answers []string
}

func (p *person) Write(question []byte) (int, error) {
	if len(p.answers) == 0 {
		p.keys.Close()
	} else {
		_, _ = p.keys.WriteString(p.answers[0]) // who asks reads it
		p.answers = p.answers[1:]
	}
	return p.Builder.Write(question)
}

// Who sits at the terminal sees the call and answers; what was typed before the question
// is no answer to it, and all else is for later.
func TestAnswerAt(t *testing.T) {
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p := &person{keys: keys, answers: []string{"y go on\n", "No  \n", "what?\n"}}
	fmt.Fprintln(keys, "y")
	ask := open(t, nil).AnswerAt(t.Context(), in, p)
	got := ""
	for range 4 {
		said := ask(dispatcher.Asked{Step: 3, Call: policy.Call{Tool: "shell", Args: []byte(`{"command":"git \u202epush"}`)}, Decision: policy.Decision{Rule: "policy[0]", Why: "mine"}})
		got += fmt.Sprintf("%s %s;", said.Decision, said.Why)
	}
	if got != "approve go on;denied ; ; ;" || !strings.Contains(p.String(), "policy[0]: mine") || strings.Contains(p.String(), "\u202e") {
		t.Error(got, p.String())
	}
}
