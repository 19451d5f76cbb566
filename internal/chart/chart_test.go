package chart

import (
	"encoding/xml"
	"html/template"
	"strings"
	"testing"
)

// TestCharts looks at what is drawn: well-formed whatever it is given, with words to all of it.
func TestCharts(t *testing.T) {
	evil := "</title><script>alert(1)</script>\u202e\x00"
	marks := []Mark{{Good, "ran"}, {Bad, evil}, {Warn, "missed"}, {Quiet, "idle"}, {Open, "runs"}}
	for len(marks) < 31 {
		marks = append(marks, Mark{Good, "ran"})
	}
	for name, tt := range map[string]struct {
		drawn template.HTML
		has   []string
	}{
		"strip":      {Strip("31 slots", marks), []string{"<title>31 slots</title>", `class="bad"`, `&lt;script&gt;alert(1)`, `\u202e\u0000`, `height="36"`, `d="M1 19h9v14h-9z" fill="currentColor"><title>ran`}},
		"together":   {Strip("", []Mark{{Good, ""}, {Quiet, ""}, {Good, ""}}), []string{`d="M1 1h9v14h-9zM25 1h9v14h-9z" fill="currentColor"/>`}},
		"no slots":   {Strip(evil, nil), []string{`height="18"`}},
		"bars":       {Bars("tokens", []Bar{{"Mon", evil, 10}, {"Tue", "Tuesday: 30", 30}}, Line{"limit 20", 20}), []string{`class="good"`, `class="bad"`, "stroke-dasharray", "limit 20", ">Mon<", "&lt;script&gt;"}},
		"no line":    {Bars("tokens", []Bar{{"Mon", "", 0}}, Line{}), []string{`height="1.0"`}},
		"no amounts": {Bars("tokens", nil, Line{}), []string{"<title>tokens</title>"}},
	} {
		if err := xml.Unmarshal([]byte(tt.drawn), new(struct{})); err != nil {
			t.Errorf("%s: %v\n%s", name, err, tt.drawn)
		}
		for _, want := range tt.has {
			if !strings.Contains(string(tt.drawn), want) {
				t.Errorf("%s has no %s:\n%s", name, want, tt.drawn)
			}
		}
		if strings.Contains(string(tt.drawn), "<script") || strings.Contains(string(tt.drawn), "style=") {
			t.Errorf("%s: %s", name, tt.drawn)
		}
	}
}
