package doctor

import (
	"fmt"

	"rouse/agent"
	"rouse/home"
	"rouse/setup"
)

func checkJournals(h home.Home) setup.Check {
	n, doubts, err := agent.Verify(h, agent.Checked)
	switch {
	case err != nil:
		return setup.Check{Check: "journals", Found: err.Error()}
	case len(doubts) > 0:
		return setup.Check{Check: "journals", Found: firstOf(doubts, "; "),
			Hint: "what is not proven was forged, damaged, or written by an older rouse, and an interrupted cycle is settled without it; " +
				"compare it with the snapshots of that cycle, and to apply it to the memory run rouse doctor --accept"}
	case n == 0:
		return setup.Check{Check: "journals", OK: true, Found: "none with a mac yet"}
	}
	return setup.Check{Check: "journals", OK: true, Found: "as they were written: the newest " + fmt.Sprint(n)}
}

// checkProgram looks for another rouse in the home, which a crontab may call.
func checkProgram(h home.Home) setup.Check {
	path := h.Program()
	other, older, err := setup.OtherProgram(path)
	switch {
	case err != nil:
		return setup.Check{Check: "program", Found: h.Rel(path) + ": " + err.Error(), Hint: "remove it: bin/run.sh builds it again"}
	case other != "":
		return setup.Check{Check: "program", OK: !older, Found: h.Rel(path) + ": " + other, Hint: "remove it after an update: bin/run.sh builds it again"}
	}
	return setup.Check{Check: "program", OK: true, Found: "no other rouse in the home"}
}
