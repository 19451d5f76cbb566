package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"rouse/agent"
	"rouse/agent/conversation"
	"rouse/agent/model"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/tools"
)

// context128k is what a large model reads at most, in tokens.
const context128k = 128_000

// conversations runs long cycles against a scripted model, with results sized
// like real ones, and prints what the requests cost. It needs no network.
func conversations(p programs, _ int) error {
	for _, c := range []struct{ iterations, limit int }{{200, 32000}, {200, 100_000}, {2000, 32000}} {
		s := &scripted{iterations: c.iterations, random: rand.New(rand.NewPCG(1, 1))}
		dir := p.path(fmt.Sprintf("talk-%d-%d", c.iterations, c.limit))
		if err := s.cycle(dir, c.limit); err != nil {
			return err
		}
		s.report(c.limit)
	}
	return nil
}

// cycle runs one cycle in a fresh home.
func (s *scripted) cycle(dir string, limit int) error {
	for _, d := range []string{"scratchpad", "logs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := cmp.Or(os.WriteFile(filepath.Join(dir, "rules.md"), []byte("Work alone.\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "scratchpad", "active.yaml"), []byte(task), 0o600)); err != nil {
		return err
	}
	home, err := home.Open(dir)
	if err != nil {
		return err
	}
	set, err := tools.NewSet(s.tool("browse", 50_000, 120_000), s.tool("query", 5_000, 40_000), s.tool("look", 100, 2_000))
	if err != nil {
		return err
	}
	a := &agent.Agent{
		Keeper: agent.Keeper{Home: home, Disk: disk.OS{}, Mark: "bench", NotesMax: 16 << 10},
		Asking: agent.Asking{
			Model: s, MaxTokens: limit, MaxIterations: s.iterations + 10*facts, Timeout: time.Hour, Notes: tools.NoteRequired,
		},
		Tools: set,
	}
	report, err := a.RunOnce(context.Background())
	return cmp.Or(err, report.Err)
}

// facts is how many facts are planted in early results and asked for late.
const facts = 20

// scripted is a model that asks for results for so many iterations, then for the
// facts in the first ones, and then is done.
type scripted struct {
	iterations int
	random     *rand.Rand

	asked        int
	results      int
	raw          int // tokens of all results as they were
	filled       int // iteration at which they would have filled a large context
	last         []string
	total, same  int // tokens of all requests, and those in an unchanged prefix
	peak         int
	took         []time.Duration // of our side, between two requests
	answered     time.Time
	wanted       int // the next fact
	found        int
	reads        int
	visited      map[string]bool
	conversation string // all that the last request said
}

// Reply is what the model asks for next.
func (s *scripted) Reply(_ context.Context, req model.Request) (model.Reply, error) {
	if !s.answered.IsZero() && s.asked < s.iterations {
		s.took = append(s.took, time.Since(s.answered))
	}
	s.count(req)
	s.asked++
	name, args := s.next()
	s.answered = time.Now()
	text, err := json.Marshal(args)
	return model.Reply{Calls: []model.Call{{ID: "c", Name: name, Args: text}}, Finish: "tool_calls"}, err
}

func (s *scripted) next() (string, map[string]any) {
	if s.asked > s.iterations {
		return s.search()
	}
	args := map[string]any{"n": s.asked, tools.NoteParam: ""}
	if s.asked%2 == 0 {
		args[tools.NoteParam] = fmt.Sprintf("record %d has the total %d and the state open", s.asked-1, s.asked*7919)
	}
	return []string{"browse", "query", "look", "query", "look", "browse", "query", "look", "query", "look"}[s.asked%10], args
}

// count compares a request with the one before, piece by piece: its tools, then
// its messages.
func (s *scripted) count(req model.Request) {
	pieces := []string{encoded(req.Tools)}
	s.conversation = ""
	for _, m := range req.Messages {
		piece := m.Role + " " + m.Content
		for _, c := range m.Calls {
			piece += " " + c.Name + " " + string(c.Args)
		}
		pieces = append(pieces, piece)
		s.conversation += m.Content + "\n"
	}
	size, prefix := 0, true
	for i, p := range pieces {
		n := conversation.Est(p)
		size += n
		if prefix = prefix && i < len(s.last) && s.last[i] == p; prefix {
			s.same += n
		}
	}
	s.last, s.total, s.peak = pieces, s.total+size, max(s.peak, size)
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *scripted) report(limit int) {
	fmt.Printf("\nconversation of %d iterations, max_tokens %d\n", s.iterations, limit)
	fmt.Printf("  %-44s %d, peak %d  %s\n", "tokens of a request, mean", s.total/s.asked, s.peak, verdict(s.peak <= limit))
	fmt.Printf("  %-44s iteration %d (%d tokens in the end)\n", "a context of 128k would have been full at", s.filled, s.raw)
	share := float64(s.same) / float64(s.total) * 100
	fmt.Printf("  %-44s %.1f %%, goal 95  %s\n", "input tokens in an unchanged prefix", share, verdict(share >= 95))
	fmt.Printf("  %-44s %d of %d, by %d calls, goal all  %s\n", "early facts found late", s.found, facts, s.reads, verdict(s.found == facts))
	tenth := len(s.took) / 10
	first, last := mean(s.took[:tenth]), mean(s.took[len(s.took)-tenth:])
	fmt.Printf("  %-44s %.2f ms, then %.2f ms: ratio %.2f\n", "our side of an iteration, first and last tenth", first, last, last/first)
}

func mean(list []time.Duration) float64 {
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	return sum.Seconds() * 1000 / float64(max(1, len(list)))
}
