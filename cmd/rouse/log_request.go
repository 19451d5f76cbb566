package main

import (
	"fmt"

	"rouse/agent"
	"rouse/agent/model"
	"rouse/internal/text"
)

// logRequest prints what the model was sent at an iteration of a cycle.
func (a *app) logRequest(args []string, iteration int, asJSON bool) error {
	if iteration < 1 {
		return usage(fmt.Errorf("--request %d: iterations count from 1", iteration))
	}
	h, id, err := a.openCycle(args)
	if err != nil {
		return err
	}
	asked, err := agent.Rebuild(h, id, iteration)
	if err != nil {
		return err
	}
	if !asJSON {
		a.printRequest(asked.Request)
		return nil
	}
	if err := asked.Fill(h); err != nil {
		return err
	}
	body, err := asked.Body()
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(body)
	return err
}

// printRequest prints a request for people; what a terminal would obey is escaped.
func (a *app) printRequest(req model.Request) {
	for _, m := range req.Messages {
		fmt.Fprintf(a.stdout, "--- %s\n%s\n", m.Role, text.Block(m.Content))
		for _, c := range m.Calls {
			fmt.Fprintf(a.stdout, "--- call %s\n%s\n", text.Line(c.Name, 200), text.Block(string(c.Args)))
		}
		for _, i := range m.Images {
			fmt.Fprintf(a.stdout, "--- picture %s, sha256 %s\n", text.Line(i.Type, 200), i.Hash())
		}
	}
	for _, t := range req.Tools {
		fmt.Fprintf(a.stdout, "--- tool %s\n%s\n%s\n", t.Name, text.Block(t.Description), text.Block(string(t.Parameters)))
	}
}
