package proof

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"rouse/agent/config"
	"rouse/agent/schedule"
	"rouse/home"
)

// said begins the keys of the memory by which cycles say what they did.
const said = "did_"

// named finds whose request it is.
var named = regexp.MustCompile(`You are (home[0-9]+)\.`)

// World is what is outside of a fleet: a model and what calls do.
type World struct {
	URL     string
	Effects string // the file of those that ran
	Calls   int    // of a cycle
	Quick   bool   // none of them takes time

	mu    sync.Mutex
	rand  *rand.Rand
	asked map[string]string
	serve *http.Server
}

// NewWorld serves a model at a free port of loopback, with what calls do in a folder.
func NewWorld(dir string, seed uint64, calls int) (*World, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &World{URL: "http://" + l.Addr().String() + "/v1", Effects: filepath.Join(dir, "effects"), Calls: calls, rand: rand.New(rand.NewPCG(seed, 1)), asked: map[string]string{}}
	w.serve = &http.Server{Handler: http.HandlerFunc(w.answer)}
	go w.serve.Serve(l)
	return w, nil
}

// Close ends it.
func (w *World) Close() { _ = w.serve.Close() }

// Into adds what the world knows to a history.
func (w *World) Into(h *History) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h.Asked = w.asked
	data, err := os.ReadFile(w.Effects)
	h.Effects = strings.Fields(string(data))
	return err
}

// answer lets a cycle make its calls, then say so in its memory, then be done.
func (w *World) answer(out http.ResponseWriter, in *http.Request) {
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(in.Body).Decode(&req); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
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
	text, _ := json.Marshal(args)
	call := map[string]any{"id": fmt.Sprint("c", step), "type": "function", "function": map[string]any{"name": tool, "arguments": string(text)}}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(map[string]any{"object": "chat.completion", "usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
		"choices": []any{map[string]any{"index": 0, "finish_reason": "tool_calls", "message": map[string]any{"role": "assistant", "content": "", "tool_calls": []any{call}}}}})
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
func (w *World) Make(dir string, n int, every string) (e schedule.Entry, err error) {
	files := map[string]string{
		"rules.md":               fmt.Sprintf("You are home%d.\n", n),
		"prices.yaml":            "models: {m: {input: 1, output: 2}}\n",
		"rouse.yaml":             fmt.Sprintf("model: {name: m, base_url: %q}\nschedule: %q\n", w.URL, every),
		"scratchpad/active.yaml": "goals: [do as told]\n",
		"workspace/note":         "kept\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		err = cmp.Or(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	h, old := home.Home{Dir: dir}, time.Now().Add(-time.Hour)
	if err = cmp.Or(err, os.Chtimes(h.Config(), old, old)); err != nil {
		return e, err
	}
	c, err := config.Load(h.Config(), os.Getenv)
	if err != nil {
		return e, err
	}
	return c.Schedule[0], nil
}
