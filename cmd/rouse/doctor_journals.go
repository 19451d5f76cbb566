package main

import (
	"fmt"
	"strings"

	"rouse/agent"
	"rouse/home"
	"rouse/setup"
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

// checkProgram looks for another rouse in the home, which a crontab may call.
func checkProgram(h home.Home) check {
	path := h.Program()
	other, older, err := setup.OtherProgram(path)
	switch {
	case err != nil:
		return check{Check: "program", Found: h.Rel(path) + ": " + err.Error(), Hint: "remove it: bin/run.sh builds it again"}
	case other != "":
		return check{Check: "program", OK: !older, Found: h.Rel(path) + ": " + other, Hint: "remove it after an update: bin/run.sh builds it again"}
	}
	return check{Check: "program", OK: true, Found: "no other rouse in the home"}
}
