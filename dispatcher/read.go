package dispatcher

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"rouse/internal/redact"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// The tools that are offered while something is parked.
const (
	readName = "scratchpad_read"
	keepName = "scratchpad_keep"
)

// maxAnswer is the most that one scratchpad_read gives back, in bytes, unless
// the dispatcher has less.
const maxAnswer = 16 << 10

func (s *Shelf) maxAnswer() int {
	if s.MaxAnswer <= 0 {
		return maxAnswer
	}
	return min(s.MaxAnswer, maxAnswer)
}

//go:embed scratchpad_read.md
var readText string

// readReference is said where calls can refer to earlier results.
const readReference = " To pass the whole content to another tool\nwithout reading it, write `{{stepN.content}}` as that tool's argument, `{{stepN.media.0}}` for a picture."

//go:embed scratchpad_keep.md
var keepText string

type readArgs struct {
	ID         string `json:"scratchpad_id" jsonschema:"the id, as the observation gave it"`
	Mode       string `json:"mode,omitempty" jsonschema:"head (default), tail, range, lines, full, grep or json"`
	N          int64  `json:"n,omitempty" jsonschema:"characters for head and tail; default 2000"`
	Start      int64  `json:"start,omitempty" jsonschema:"for range the first character, from 0; for lines the first line, from 1"`
	End        int64  `json:"end,omitempty" jsonschema:"where to end, not included"`
	Pattern    string `json:"pattern,omitempty" jsonschema:"for grep: a regular expression in RE2 syntax"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"for grep"`
	Context    int    `json:"context,omitempty" jsonschema:"for grep: lines to show around each match"`
	MaxMatches int    `json:"max_matches,omitempty" jsonschema:"for grep; default 50"`
	Query      string `json:"query,omitempty" jsonschema:"for json: a jq query"`
	Encoding   string `json:"encoding,omitempty" jsonschema:"for binary content: base64 (default) or hex"`

	most  int  // bytes of the answer
	alone bool // nobody resolves references
	hide  *redact.Redactor
}

type keepArgs struct {
	ID    string `json:"scratchpad_id" jsonschema:"the id, as the observation gave it"`
	Label string `json:"label" jsonschema:"what it is, in a few words"`
	TTL   string `json:"ttl,omitempty" jsonschema:"for how long, such as 24h; default 24h, at most 720h"`
}

// shelfTools are scratchpad_read and scratchpad_keep.
func (s *Shelf) shelfTools() []tools.Tool {
	return []tools.Tool{s.Reader(), tools.New(keepName, keepText, s.keep)}
}

func (s *Shelf) read(ctx context.Context, _ tools.Call, a readArgs) tools.Result {
	c, err := s.get(a.ID)
	if err != nil {
		return tools.Fail("%v", err)
	}
	defer c.Close()
	a.most, a.alone, a.hide = s.maxAnswer(), s.Alone, s.Redact
	res, err := readContent(ctx, c, a)
	if res.From = c.From; len(c.From) == 0 {
		res.Read = []string{c.Turn}
	}
	if err != nil {
		return tools.Fail("%s", s.Redact.String(err.Error()))
	}
	res.Content = s.Redact.Any(res.Content)
	res.Metadata["scratchpad_id"], res.Metadata["mode"] = a.ID, cmp.Or(a.Mode, "head")
	return res
}

// readContent answers one request by its mode.
func readContent(ctx context.Context, c *observation.Content, a readArgs) (tools.Result, error) {
	if err := searchable(c, a); err != nil {
		return tools.Result{}, err
	}
	switch a.Mode {
	case "grep":
		return grep(ctx, c, a)
	case "json":
		return query(ctx, c, a)
	}
	if a.Mode == "full" && c.Bytes > int64(a.most) {
		return tools.Result{}, tooLarge(c, a)
	}
	unit, start, end, err := c.Span(a.Mode, a.N, a.Start, a.End)
	if err != nil {
		return tools.Result{}, err
	}
	limit := a.most
	if c.Kind == observation.Binary {
		limit /= 2 // base64 and hex are longer than what they say
	}
	part, err := c.Slice(unit, start, end, limit)
	if err != nil {
		return tools.Result{}, err
	}
	if part.Data, err = c.Hidden(part, a.hide); err != nil {
		return tools.Result{}, err
	}
	meta := map[string]any{"unit": part.Unit, "start": part.Start, "end": part.End, "total": part.Total}
	if part.End < part.Total {
		meta["next"] = part.End
	}
	if part.Cut {
		meta["note"] = fmt.Sprintf("the line is longer than an answer; read on by characters, mode range from %d", part.Char)
	}
	return tools.Result{OK: true, Content: encode(c, part, a.Encoding), Metadata: meta}, nil
}

// searchable refuses to search binary content that holds a secret: it is kept as
// it is, so what matches would tell the secret bit by bit. Texts have none.
func searchable(c *observation.Content, a readArgs) error {
	if c.Kind != observation.Binary || a.Mode != "grep" && a.Mode != "json" {
		return nil
	}
	found, err := a.hide.Found(c)
	if err == nil && found {
		err = errors.New("this binary content holds a secret, so it is not searched: use head, tail, range or lines")
	}
	return err
}

func tooLarge(c *observation.Content, a readArgs) error {
	other := ""
	if !a.alone {
		of := fmt.Sprintf("step%d", c.Step)
		if len(c.From) > 0 {
			of = c.ID
		}
		other = fmt.Sprintf(`, or pass it to another tool as "{{%s.content}}"`, of)
	}
	return fmt.Errorf("the content has %d bytes, an answer at most %d: use grep to find, lines or range to read on, json to query%s", c.Bytes, a.most, other)
}

// encode is a part as text: lines are text in binary content too.
func encode(c *observation.Content, part observation.Part, encoding string) string {
	data := part.Data
	switch {
	case c.Kind != observation.Binary:
		return string(data)
	case part.Unit == observation.Lines:
		return strings.ToValidUTF8(string(data), "\ufffd")
	case encoding == "hex":
		return hex.EncodeToString(data)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func grep(ctx context.Context, c *observation.Content, a readArgs) (tools.Result, error) {
	if a.Pattern == "" {
		return tools.Result{}, errors.New("grep needs a pattern")
	}
	found, err := c.Grep(ctx, observation.Query{
		Pattern: a.Pattern, IgnoreCase: a.IgnoreCase, Context: a.Context, MaxMatches: a.MaxMatches,
		From: a.Start, MaxBytes: a.most - a.most/8,
	})
	if err != nil {
		return tools.Result{}, err
	}
	if c.Kind != observation.Binary {
		err = c.HideLines(found.Lines, a.hide)
	}
	if err != nil {
		return tools.Result{}, err
	}
	meta := map[string]any{"unit": observation.Lines, "total": c.Total(observation.Lines), "matches": found.Matches, "shown": found.Shown}
	if found.Next > 0 {
		meta["next"] = found.Next
	}
	return tools.Result{OK: true, Content: string(observation.GrepText(found.Lines)), Metadata: meta}, nil
}

// keepMost and keepUsual bound how long an observation is kept.
const (
	keepMost  = 30 * 24 * time.Hour
	keepUsual = 24 * time.Hour
)

func (s *Shelf) keep(_ context.Context, _ tools.Call, a keepArgs) tools.Result {
	ttl := keepUsual
	if a.TTL != "" {
		var err error
		if ttl, err = time.ParseDuration(a.TTL); err != nil || ttl <= 0 || ttl > keepMost {
			return tools.Fail("ttl %q: write a length of time up to %s, such as 24h", a.TTL, keepMost)
		}
	}
	turn, err := s.begun()
	if err == nil {
		err = turn.Keep(a.ID, a.Label, ttl)
	}
	if err != nil {
		return tools.Fail("%v", err)
	}
	return tools.Result{OK: true, Content: fmt.Sprintf("kept for %s; later cycles are told of it", ttl)}
}

func query(ctx context.Context, c *observation.Content, a readArgs) (tools.Result, error) {
	if a.Query == "" {
		return tools.Result{}, errors.New("json needs a query, in jq's syntax")
	}
	found, err := c.JSON(ctx, a.Query, a.most)
	if err != nil {
		return tools.Result{}, err
	}
	meta := map[string]any{"unit": "results", "shown": found.Count}
	if found.Cut {
		meta["note"] = "there is more: narrow the query, or take a slice such as .items[0:50]"
	}
	return tools.Result{OK: true, Content: string(found.Data), Metadata: meta}, nil
}
