package main

import (
	"fmt"
	"strings"

	"rouse/agent"
	"rouse/home"
)

// verified is how many journals the doctor checks.
const verified = 20

func checkJournals(h home.Home) check {
	n, doubts, err := agent.Verify(h, verified)
	switch {
	case err != nil:
		return check{Check: "journals", Found: err.Error()}
	case len(doubts) > 0:
		return check{Check: "journals", Found: strings.Join(doubts, "; "),
			Hint: "what is not proven was forged, damaged, or written by an older rouse; an interrupted cycle is settled without it"}
	case n == 0:
		return check{Check: "journals", OK: true, Found: "none with a mac yet"}
	}
	return check{Check: "journals", OK: true, Found: fmt.Sprintf("the newest %d are as they were written", n)}
}
