package proof

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"rouse/agent/config"
	"rouse/agent/model"
	"rouse/agent/model/modeltest"
	"rouse/agent/schedule"
	"rouse/home"
)

// said begins the keys of the memory by which cycles say what they did.
const said = "did_"

// named finds whose request it is.
var named = regexp.MustCompile(`You are (home[0-9]+)\.`)

// World is what is outside of a fleet: a model and what calls do.
type World struct {
	testing.TB
	*modeltest.Server
	Effects string // the file of those that ran
	Calls   int    // of a cycle
	Quick   bool   // none of them takes time

	mu    sync.Mutex
	rand  *rand.Rand
	asked map[string]string
}

// NewWorld serves a model, with what calls do in a folder.
func NewWorld(t testing.TB, dir string, seed uint64, calls int) *World {
	w := &World{TB: t, Effects: filepath.Join(dir, "effects"), Calls: calls, rand: rand.New(rand.NewPCG(seed, 1)), asked: map[string]string{}}
	w.Server = modeltest.Answer(w.answer)
	t.Cleanup(w.Close)
	return w
}

// into adds what the world knows to a history.
func (w *World) into(h *History) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, err := os.ReadFile(w.Effects)
	if err != nil {
		w.Fatal(err)
	}
	h.Asked, h.Effects = w.asked, strings.Fields(string(data))
}

// answer lets a cycle make its calls, then say so in its memory, then be done.
func (w *World) answer(in modeltest.Request) modeltest.Reply {
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(in.Body, &req); err != nil {
		return modeltest.Reply{Status: http.StatusBadRequest, Text: err.Error()}
	}
	who, step := "", 0
	for _, m := range req.Messages {
		if m.Role == "tool" {
			step++
		} else if found := named.FindSubmatch(m.Content); found != nil && who == "" {
			who = string(found[1])
		}
	}
	tool, args := w.act(who, step)
	action, _ := json.Marshal(map[string]any{"tool": tool, "args": args})
	return modeltest.Reply{Action: action, Usage: &model.Usage{Input: 100, Output: 10}}
}

// act is what a home is told to do. Some calls take their time before they do it, some after.
func (w *World) act(who string, step int) (tool string, args map[string]any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprintf("call-%s-%d", strings.TrimPrefix(who, "home"), len(w.asked)+1)
	switch {
	case step > w.Calls:
		return "done", map[string]any{"summary": "said what it did"}
	case step == w.Calls:
		w.asked[id] = who // so that no key is like another
		return "update_scratchpad", map[string]any{said + strings.ReplaceAll(id, "-", "_"): "it did"}
	}
	w.asked[id] = who
	do := fmt.Sprintf("echo %s >>%s", id, w.Effects)
	if w.Quick {
		return "shell", map[string]any{"command": do}
	}
	switch w.rand.IntN(8) {
	case 0:
		do = "sleep 0.3; " + do
	case 1:
		do += "; sleep 0.3"
	}
	return "shell", map[string]any{"command": do, "task_scratchpad": "as asked"}
}

// Make makes the folder of a home of that world, and reads its schedule from there.
func (w *World) Make(dir string, n int, every string) schedule.Entry {
	w.Helper()
	h, old, err := home.Home{Dir: dir}, time.Now().Add(-time.Hour), error(nil)
	for name, text := range map[string]string{
		"rules.md":               fmt.Sprintf("You are home%d.\n", n),
		"prices.yaml":            "models: {m: {input: 1, output: 2}}\n",
		"rouse.yaml":             fmt.Sprintf("model: {name: m, base_url: %q}\nschedule: %q\n", w.URL(), every),
		"scratchpad/active.yaml": "goals: [do as told]\n",
		"workspace/note":         "kept\n",
	} {
		path := filepath.Join(dir, name)
		err = cmp.Or(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	err = cmp.Or(err, os.Chtimes(h.Config(), old, old))
	c, failed := config.Load(h.Config(), os.Getenv)
	if err = cmp.Or(err, failed); err != nil {
		w.Fatal(err)
	}
	return c.Schedule[0]
}
