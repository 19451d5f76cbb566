package search

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"rouse/tools"
)

// ToolName is the name of the tool by which the model finds what left its memory.
const ToolName = "recall"

//go:embed recall.md
var recallText string

type recallArgs struct {
	Query string `json:"query"`
	Since string `json:"since,omitempty"`
}

// Bounds of an answer: texts, and bytes of each. All of it is shown, not parked.
const recalled, recalledBytes = 8, 300

// Tool is that tool, for the cycle that is awake, whose own texts it does not find.
func (x Index) Tool() tools.Tool {
	t := tools.New(ToolName, recallText, func(ctx context.Context, _ tools.Call, a recallArgs) tools.Result {
		text, cycles, err := x.recall(ctx, a)
		if err != nil {
			return tools.Fail("%v", err)
		}
		return tools.Result{OK: true, Content: text, Read: cycles}
	})
	t.ReadOnly = true
	return t
}

func (x Index) recall(ctx context.Context, a recallArgs) (said string, cycles []string, err error) {
	q := Query{Text: a.Query, Kinds: []Kind{Note, Task}, Limit: 8 * recalled, Bytes: recalledBytes}
	if q.Since, err = Since(a.Since, x.now()); err == nil {
		q.Before, err = x.Home.Newest()
	}
	if err != nil {
		return "", nil, err
	}
	found, err := x.Find(ctx, q)
	if err == nil && len(found.Hits) == 0 {
		q.Any, said = true, "Nothing has all of these words; some of them:\n"
		found, err = x.Find(ctx, q)
	}
	if err != nil {
		return "", nil, err
	}
	if len(found.Hits) == 0 {
		said = "Nothing was noted or done about that.\n"
	}
	for _, h := range found.Hits {
		cycles = append(cycles, h.Cycle)
	}
	return said + listed(found.Hits) + found.Note, cycles, nil
}

// listed are the first hits, each text once.
func listed(hits []Hit) string {
	var b strings.Builder
	var told []uint64
	for _, h := range hits {
		if len(told) < recalled && !slices.Contains(told, h.sum) {
			told = append(told, h.sum)
			fmt.Fprintf(&b, "%s cycle %s, %s: %s\n", h.Time.Format(time.DateOnly), h.Cycle, h.Kind, h.Excerpt)
		}
	}
	return b.String()
}
