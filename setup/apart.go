package setup

import (
	"fmt"
	"os"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
)

// RunApart starts a cycle in a process of its own, which goes on when this one ends. What
// it prints goes to logs/due.log. say is told of a cycle that did not go well, as long as
// this process runs. It fails with [home.ErrAwake] where one is awake.
func (s *Setup) RunApart(program string, say func(string)) error {
	if disk.Holder(s.Home.Memory()) != 0 {
		return home.ErrAwake
	}
	log, err := os.OpenFile(s.Home.DueLog(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	c := proc.Command{Argv: []string{program, "run", "--home", s.Home.Dir}, Dir: s.Home.Dir}
	_, err = proc.Apart(c, s.Alone().Environ, log, func(end *os.ProcessState) {
		if end.ExitCode() != 0 {
			say(fmt.Sprintf("the cycle that the page started: %v; see logs/due.log", end))
		}
	})
	return err
}
