package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rouse/agent/made"
	"rouse/agent/model"
	"rouse/dispatcher"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
	"rouse/tools"
)

// Names of what a cycle is made of, beside the files of its home.
const (
	madeConfig = "config" // what held, wherever it was said
	madeTools  = "tools"  // all that can be offered
	madeGuide  = "guide"  // what Rouse says beside the rules
	madeBin    = "bin"    // a listing
)

// maxIngredient is the largest file that is copied, in bytes.
const maxIngredient = 1 << 20

// ingredients are the texts that the cycle is made of, by name and without
// secrets, as far as they are known before anything is opened.
func (k *Keeper) ingredients(rules string) map[string]string {
	list := map[string]string{madeConfig: string(k.Config), madeBin: listing(k.Home.Bin())}
	list[k.Home.Rel(k.Home.Rules())] = rules
	for _, path := range []string{k.Home.Config(), k.Home.Servers(), k.Home.ServerPins()} {
		list[k.Home.Rel(path)] = small(path)
	}
	for name, text := range list {
		if text == "" {
			delete(list, name)
			continue
		}
		list[name] = k.Redact.String(text)
	}
	return list
}

// small is the text of a file, "" where there is none or it is too large.
func small(path string) string {
	text, err := disk.ReadSmall(path, maxIngredient)
	if err != nil {
		return ""
	}
	return string(text)
}

// listing says what is in a folder of programs: name, mode, size and time of
// each, as these are too large to be read at every wake.
func listing(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			fmt.Fprintf(&b, "%q %s %d %s\n", e.Name(), info.Mode(), info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
		}
	}
	return b.String()
}

// sums names the texts by their hashes.
func sums(texts map[string]string) map[string]string {
	list := map[string]string{}
	for name, text := range texts {
		list[name] = made.Sum([]byte(text))
	}
	return list
}

// keep keeps copies of the texts, which the journal names already. Without them
// the cycle goes on: only what it saw cannot be told exactly later.
func (k *Keeper) keep(j dispatcher.Journal, texts map[string]string) {
	if err := k.copies().Keep(slices.Collect(maps.Values(texts))...); err != nil {
		// A journal that cannot be written is met again at once.
		_ = j.Append(&journal.Warning{Text: k.Redact.String(err.Error())})
	}
}

// keepTools names the tools that the model is offered from now on, and the first
// time the terms of all requests.
func (c *cycle) keepTools() error {
	if len(c.offered) == c.described {
		return nil
	}
	offered, described := slices.Clone(c.offered), slices.Clone(c.talk.Described())
	for _, t := range c.dispatcher.Tools.All() {
		if t.Hidden {
			offered, described = append(offered, t), append(described, model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters()})
		}
	}
	texts := map[string]string{madeTools: c.Redact.String(toolsText(offered, described, c.Notes.Guide() != ""))}
	if c.guide != "" {
		texts[madeGuide] = c.guide
	}
	event := &journal.Made{Made: sums(texts)}
	if c.described == 0 {
		event.Terms = c.terms()
	}
	c.described = len(c.offered)
	if err := c.journal.Append(event); err != nil {
		return err
	}
	c.keep(c.journal, texts)
	return nil
}

func (c *cycle) terms() *journal.Terms {
	return &journal.Terms{
		Protocol: c.protocol(), Notes: string(c.Notes), Iterations: c.MaxIterations, Timeout: c.Timeout.Milliseconds(),
		MaxTokens: c.MaxTokens, Learned: c.recall().MaxTokens, Form: c.recall().Form, Keep: c.KeepResults, Model: c.asking.ModelName, MaxOutput: c.MaxOutput, Style: c.asking.Style, Kept: c.kept,
		Archive: c.archive, Task: c.Redact.String(c.Task), Attempt: c.Waking.Attempt, Checks: c.hiddenChecks(),
	}
}

func (c *cycle) hiddenChecks() []any {
	checks, _ := c.Redact.Any(c.Checks.Task).([]any)
	return checks
}

// toolsText is a list of tools as JSON, one a line, with the bytes of each schema
// as they are.
func toolsText(offered []tools.Tool, described []model.Tool, noted bool) string {
	var b strings.Builder
	b.Grow(len(described) << 10) // more than most take
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, t := range described {
		// Texts always have a JSON form.
		_ = enc.Encode(toolLine{t.Name, t.Description, string(t.Parameters), offered[i].ReadOnly, noted && !offered[i].Hidden && !offered[i].HasOwnNote(), offered[i].Hidden})
	}
	return b.String()
}

// lookBack is among how many cycles the newest one is sought that offered tools:
// one that has nothing to do offers none.
const lookBack = 5

// lookBackFar is the same for what many cycles in a row may lack.
const lookBackFar = 100

// Offered are the tools, by what describes them, that the newest cycle offered.
// What cannot be read is none.
func (k *Keeper) Offered() []tools.Tool {
	ids, err := k.Home.Cycles(lookBack)
	if err != nil {
		return nil
	}
	for _, id := range ids {
		for e, err := range journal.Read(k.Home.Journal(id)) {
			if m, ok := e.Data.(*journal.Made); ok {
				text, err := k.copies().Read(m.Made[madeTools])
				if err != nil {
					return nil
				}
				list, _ := parseTools(text)
				return list
			}
			if _, asked := e.Data.(*journal.Request); err != nil || asked {
				break
			}
		}
	}
	return nil
}

// Unruled is a problem of the rules, with how to get back those that a cycle had.
func Unruled(h home.Home, problem error) error {
	ids, _ := h.Cycles(lookBackFar)
	for _, id := range ids {
		first, _ := journal.First(h.Journal(id))
		wake, ok := first.Data.(*journal.Wake)
		if !ok {
			continue
		}
		if sum := wake.Made[h.Rel(h.Rules())]; sum != "" && disk.Exists(filepath.Join(h.Made(), sum)) {
			return fmt.Errorf("read the rules: %w; take those of cycle %s, in the home: cp %s %s", problem, id, h.Rel(filepath.Join(h.Made(), sum)), h.Rel(h.Rules()))
		}
	}
	return fmt.Errorf("read the rules: %w; say in it what the agent is and how it works", problem)
}

// toolLine is one tool of a copy.
type toolLine struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  string `json:"parameters"` // a JSON Schema
	ReadOnly    bool   `json:"read_only,omitempty"`
	Noted       bool   `json:"noted,omitempty"`
	Hidden      bool   `json:"hidden,omitempty"`
}

func (k *Keeper) copies() made.Copies { return made.Copies{Dir: k.Home.Made(), Disk: k.disk()} }
