package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"rouse/agent/conversation"
	"rouse/tools"
)

// tool gives results of so many bytes; in the middle of each stands a fact.
func (s *scripted) tool(name string, least, most int) tools.Tool {
	type args struct {
		N int `json:"n" jsonschema:"the number of the record"`
	}
	return tools.New(name, "Gives a record.", func(_ context.Context, call tools.Call, a args) tools.Result {
		text := record(name, a.N, least+s.random.IntN(most-least))
		s.results++
		s.raw += conversation.Est(text)
		if s.filled == 0 && s.raw > context128k {
			s.filled = s.results
		}
		_, err := call.Output.Write([]byte(text))
		if err != nil {
			return tools.Fail("%v", err)
		}
		return tools.Result{OK: true}
	})
}

// record is a text like those of a browser or a database, with a fact in its
// middle.
func record(kind string, n, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		if at := b.Len() * 2; at >= size && at < size+400 {
			fmt.Fprintf(&b, "the secret word of record %d is %s\n", n, word(n))
			size = max(size, b.Len()+200)
		}
		if kind == "browse" {
			fmt.Fprintf(&b, "- listitem [ref=e%d]: link \"Order %d of customer %d\" url: /orders/%d\n", i, i*31, i*17, i*31)
		} else {
			fmt.Fprintf(&b, "{\"id\": %d, \"state\": \"open\", \"total\": %d.%02d, \"updated\": \"2026-04-01T10:%02d:00Z\"}\n", i, i*13, i%100, i%60)
		}
	}
	return b.String()
}

// word is the fact of a record.
func word(n int) string { return fmt.Sprintf("w%xq", n*2654435761%0xfffffff) }

// ids matches what can be read.
var ids = regexp.MustCompile(`\b[0-9a-f]{16}\b`)

// search asks for the facts of the first records, one after the other, as a model
// would that has only what the conversation shows: it reads the result of the
// step if its id is shown, else it looks for the step in what was folded away.
func (s *scripted) search() (string, map[string]any) {
	if s.wanted == 0 {
		s.wanted, s.visited = 1, map[string]bool{}
	}
	for s.wanted <= facts {
		if strings.Contains(s.conversation, word(s.wanted)) {
			s.found++
			s.wanted++
			s.visited = map[string]bool{}
			continue
		}
		if id := s.clue(); id != "" {
			s.visited[id] = true
			s.reads++
			pattern := fmt.Sprintf("secret word of record %d is|step %d: ", s.wanted, s.wanted)
			return "scratchpad_read", map[string]any{"scratchpad_id": id, "mode": "grep", "pattern": pattern, tools.NoteParam: ""}
		}
		s.wanted++ // it is lost
		s.visited = map[string]bool{}
	}
	return "done", map[string]any{"summary": "searched", tools.NoteParam: ""}
}

// clue is an id that was not read yet for this fact: that of its own step if it
// is shown, else one of earlier iterations.
func (s *scripted) clue() string {
	own := regexp.MustCompile(fmt.Sprintf(`(?m)(step %d: .*|"step":%d,.*)$`, s.wanted, s.wanted))
	archives := regexp.MustCompile(`earlier iterations are in the scratchpad.*`)
	for _, lines := range [][]string{own.FindAllString(s.conversation, -1), archives.FindAllString(s.conversation, -1)} {
		for _, line := range lines {
			for _, id := range ids.FindAllString(line, -1) {
				if !s.visited[id] {
					return id
				}
			}
		}
	}
	return ""
}
