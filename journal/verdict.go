package journal

import (
	"fmt"

	"rouse/internal/text"
	"rouse/scratchpad"
)

// End says how the run ended, before the cycle sleeps.
type End struct {
	Outcome string `json:"outcome"`
	Exit    int    `json:"exit"`
	Error   string `json:"error,omitempty"`
	// Changes are the last changes of the memory.
	Changes []scratchpad.Change `json:"changes,omitempty"`
	// Task is the verdict, where checks were tested.
	Task string `json:"task,omitempty"`
	// Unmet are the checks that do not hold, and Flaky those that held at a second try.
	Unmet []string `json:"unmet,omitempty"`
	Flaky []string `json:"flaky,omitempty"`
}

// Verdicts on a cycle's task.
const (
	TaskProven  = "proven"  // its checks hold
	TaskClaimed = "claimed" // the model said done, and there was no check
	TaskFailed  = "failed"  // a check does not hold
	TaskNone    = "none"    // the model did not say done of any
)

// Checked is what came of a check.
type Checked struct {
	// Step is that of the done for which it was tested, 0 where there was none.
	Step int `json:"step,omitempty"`
	// Task is what it was tested for, "" where that was none.
	Task string `json:"task,omitempty"`
	Kind string `json:"kind"`
	// Check is it in one line, and By who gave it: operator or agent.
	Check string `json:"check"`
	By    string `json:"by"`
	OK    bool   `json:"ok"`
	// Standing says that it holds for every cycle.
	Standing bool `json:"standing,omitempty"`
	// Seen is what was found, in a few words.
	Seen string `json:"seen"`
	// Flaky says that it held at the second try alone.
	Flaky bool  `json:"flaky,omitempty"`
	Ms    int64 `json:"ms"`
}

func (*Checked) event() string { return "check" }

func (c *Checked) text() string {
	state := "holds"
	if !c.OK {
		state = "does not hold"
	}
	return fmt.Sprintf("check  %s, by the %s: %s, %s: %s", text.Line(c.Check, textRunes), c.By, state, ms(c.Ms), text.Line(c.Seen, textRunes))
}
