package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rouse/agent/made"
	"rouse/agent/model"
	"rouse/journal"
	"rouse/tools"
)

// Names of what a cycle is made of, beside the files of its home.
const (
	madeConfig = "config" // what held, wherever it was said
	madeTools  = "tools"  // all that can be offered
	madeBin    = "bin"    // a listing
)

// maxIngredient is the largest file that is copied, in bytes.
const maxIngredient = 1 << 20

// ingredients are the texts that the cycle is made of, by name and without
// secrets, as far as they are known before anything is opened.
func (a *Agent) ingredients(c *cycle) map[string]string {
	list := map[string]string{madeConfig: string(a.Config), madeBin: listing(a.Home.Bin())}
	c.rules, c.unruled = a.Home.ReadRules()
	list[a.Home.Rel(a.Home.Rules())] = c.rules
	for _, path := range []string{a.Home.Config(), a.Home.Servers(), a.Home.ServerPins()} {
		list[a.Home.Rel(path)] = small(path)
	}
	for name, text := range list {
		if text == "" {
			delete(list, name)
			continue
		}
		list[name] = a.Redact.String(text)
	}
	return list
}

// small is the text of a file, "" where there is none or it is too large.
func small(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIngredient {
		return ""
	}
	text, err := os.ReadFile(path)
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
func (a *Agent) keep(c *cycle, texts map[string]string) {
	var list [][]byte
	for _, text := range texts {
		list = append(list, []byte(text))
	}
	if err := a.copies().Keep(list...); err != nil {
		// A journal that cannot be written is met again at once.
		_ = c.journal.Append(&journal.Warning{Text: a.Redact.String(err.Error())})
	}
}

// keepTools names the tools that the model is offered from now on, and the first
// time the terms of all requests.
func (a *Agent) keepTools(c *cycle) error {
	if len(c.offered) == c.described || c.journal == nil {
		return nil
	}
	texts := map[string]string{madeTools: a.Redact.String(toolsText(c.offered, c.talk.Described()))}
	event := &journal.Made{Made: sums(texts)}
	if c.described == 0 {
		event.Terms = a.terms(c)
	}
	c.described = len(c.offered)
	if err := c.journal.Append(event); err != nil {
		return err
	}
	a.keep(c, texts)
	return nil
}

func (a *Agent) terms(c *cycle) *journal.Terms {
	return &journal.Terms{
		Protocol: a.protocol(c), Notes: string(a.Notes), Iterations: a.MaxIterations, Timeout: a.Timeout.Milliseconds(),
		MaxTokens: a.MaxTokens, Learned: a.recall(c).MaxTokens, Keep: a.KeepResults, Model: a.ModelName, MaxOutput: a.MaxOutput, Kept: c.kept,
	}
}

// toolsText is a list of tools as JSON, one a line, with the bytes of each schema
// as they are.
func toolsText(offered []tools.Tool, described []model.Tool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, t := range described {
		// Texts always have a JSON form.
		_ = enc.Encode(toolLine{t.Name, t.Description, string(t.Parameters), offered[i].ReadOnly})
	}
	return b.String()
}

// lookBack is among how many cycles the newest one is sought that offered tools:
// one that has nothing to do offers none.
const lookBack = 5

// Offered are the tools, by what describes them, that the newest cycle offered.
// What cannot be read is none.
func (a *Agent) Offered() []tools.Tool {
	ids, err := a.Home.Cycles(lookBack)
	if err != nil {
		return nil
	}
	for _, id := range ids {
		for e, err := range journal.Read(a.Home.Journal(id)) {
			if m, ok := e.Data.(*journal.Made); ok {
				return a.readTools(m.Made[madeTools])
			}
			if _, asked := e.Data.(*journal.Request); err != nil || asked {
				break
			}
		}
	}
	return nil
}

func (a *Agent) readTools(sum string) (list []tools.Tool) {
	text, err := a.copies().Read(sum)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(text) {
		var t toolLine
		if json.Unmarshal(line, &t) == nil {
			list = append(list, tools.Tool{Name: t.Name, Description: t.Description, Raw: json.RawMessage(t.Parameters)})
		}
	}
	return list
}

// toolLine is one tool of a copy.
type toolLine struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  string `json:"parameters"` // a JSON Schema
	ReadOnly    bool   `json:"read_only,omitempty"`
}

func (a *Agent) copies() made.Copies { return made.Copies{Dir: a.Home.Made(), Disk: a.disk()} }
