package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/proc"
	"rouse/journal"
)

const told = "20260401_150154" // the cycle whose journal a test writes

// tale makes a home with the journal of a cycle, which goes on with what add is given.
func tale(t testing.TB, owner proc.Identity) (folder string, add func(...journal.Payload)) {
	t.Helper()
	folder = t.TempDir()
	dir := filepath.Join(folder, "agent")
	for _, name := range []string{"logs", "scratchpad"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rules.md"), []byte("rules"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 4, 1, 15, 1, 54, 0, time.UTC)
	w, err := journal.Create(disk.OS{}, h.Journal(told), journal.NewChain(nil, told), func() time.Time { now = now.Add(time.Second); return now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	add = func(list ...journal.Payload) {
		t.Helper()
		for _, p := range list {
			if err := w.Append(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(&journal.Wake{Owner: owner})
	return folder, add
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// call is one iteration: a request, its answer and the call that it asks for.
func call(step int, args, content string) []journal.Payload {
	return []journal.Payload{
		&journal.Request{Iteration: step, Tokens: 1500}, &journal.Reply{Text: args, Usage: journal.Usage{Input: 1000, Output: 10}, Ms: 900},
		&journal.Intent{Step: step, Tool: "shell", Args: raw(args)}, &journal.Result{Step: step, Tool: "shell", OK: true, Content: raw(content)},
	}
}

const cyclePath = "/h/agent/cycles/" + told

// want fails unless a page has all of these, in this order.
func want(t *testing.T, page string, parts ...string) {
	t.Helper()
	rest := page
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("no %q in\n%s", part, rest)
		}
		rest = after
	}
}

// TestWaterfall: each request, call and check is a row, with what became of it.
func TestWaterfall(t *testing.T) {
	t.Parallel()
	folder, add := tale(t, proc.Identity{PID: 1, Boot: "another"})
	add(call(1, "date -u", "Wed\u202e <img src=x>")...)
	add(&journal.Request{Iteration: 2}, &journal.Retry{Attempt: 1, Error: "status 503"}, &journal.Model{Name: "small", Instead: "large", Reason: "down"},
		&journal.Request{Iteration: 2}, &journal.Reply{Text: "so be it", Model: "small"},
		&journal.Policy{Step: 2, Rule: "mail", Do: "ask", Why: "it goes out"}, &journal.Approval{ID: "a1", Decision: "asked", Step: 2}, &journal.Result{Step: 2, Tool: "mail"},
		&journal.Note{Step: 3, Text: "a note"}, &journal.Intent{Step: 3, Tool: "http_get", Approval: "a0"}, &journal.Origin{Step: 3, From: []string{"host example.com"}},
		&journal.Refused{Step: 3, What: "host evil.example"}, &journal.Result{Step: 3, Tool: "http_get", Error: "no route", ScratchpadID: "s1", SizeBytes: 7},
		&journal.Checked{Step: 4, Check: "file out.txt", By: "operator", Seen: "is not there", Ms: 5}, &journal.Limit{Name: "tokens", Text: "used up"},
		&journal.Intent{Step: 4, Tool: "shell", Args: raw("rm x")})
	r := serve(t, folder, View)
	path := filepath.Join(folder, "agent", "logs", "cycle_"+told+".jsonl")
	half(t, path, `{"v":1,"event":"result","step":4,"tool":"sh`)
	page := r.get(cyclePath)
	want(t, page, "interrupted", "settles it", "wake", "iteration 1: ask", "answered", ">1s<", "1000 &#43; 10", "step 1: shell", "date -u", `Wed\u202e &lt;img`, ">ok<",
		"iteration 2: ask", "503", "no answer", "asks small", "so be it", "step 2: mail", "policy: ask by mail", "a1", "asked", "step 3: http_get", "no route", "note: a note", "approved as a0",
		"example.com", "refused: host evil", "7 bytes kept as s1", "failed", "file out.txt", "is not there", "does not hold", "tokens: used up",
		"step 4: shell", "rm x", "not repeated", "unknown outcome")
	list := r.get("/h/agent/cycles")
	want(t, list, told, "interrupted")
	want(t, r.get("/h/agent/cycles?task=proven"), "no such cycle")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if code, _ := r.ask(http.MethodGet, cyclePath, nil); code != http.StatusNotFound {
		t.Errorf("a cycle that is not there: %d", code)
	}
	if err := os.WriteFile(filepath.Join(folder, "agent", "scratchpad", told+"_before.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, r.get(cyclePath), "it was removed")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	want(t, r.get(cyclePath), "no log of what it did")
}

// half leaves a line in a journal as a process does that is killed.
func half(t *testing.T, path, line string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line); err != nil {
		t.Fatal(err)
	}
}

// TestPages: a long cycle is shown by pages that have each row once.
func TestPages(t *testing.T) {
	t.Parallel()
	folder, add := tale(t, proc.Identity{})
	for i := range 2 * mostRows {
		add(call(i+1, "x", "y")...)
	}
	add(&journal.Sleep{Outcome: journal.Done, Unproven: 2, Forgotten: 3})
	r := serve(t, folder, View)
	rows := 0
	for from := 1; from > 0; {
		page := r.get(fmt.Sprintf("%s?from=%d", cyclePath, from))
		rows += strings.Count(page, "<tr id=")
		want(t, page, fmt.Sprintf(`id="row-%d"`, from))
		if from += mostRows; !strings.Contains(page, fmt.Sprintf("?from=%d", from)) {
			from = 0
		}
	}
	if want := 4*mostRows + 2; rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

// BenchmarkCycle opens the page of a cycle of 2,000 steps and 100 MB.
func BenchmarkCycle(b *testing.B) {
	folder, add := tale(b, proc.Identity{})
	for i := range 2000 {
		add(call(i+1, strings.Repeat("a\n", 3000), strings.Repeat(`"content"`, 3000))...)
	}
	add(&journal.Sleep{Outcome: journal.Done})
	info, err := os.Stat(filepath.Join(folder, "agent", "logs", "cycle_"+told+".jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	r := serve(b, folder, View)
	before := cpu(b)
	for b.Loop() {
		if page := r.get(cyclePath); !strings.Contains(page, "step 40:") {
			b.Fatal(page)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// cpu is the time that this process has computed.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestStep: a call is shown whole, or says what is cut.
func TestStep(t *testing.T) {
	t.Parallel()
	folder, add := tale(t, proc.Identity{PID: 1, Boot: "another"})
	add(&journal.Intent{Step: 1, Tool: "shell", Args: json.RawMessage(`{"command":"echo \"a\"\nls","n":3}`)},
		&journal.Result{Step: 1, Tool: "shell", OK: true, Content: raw(strings.Repeat("x", maxPart+7)), ScratchpadID: "s1", Images: []journal.Picture{{Type: "image/png", ID: "p1"}}},
		&journal.Intent{Step: 2, Tool: "shell", Args: raw(strings.Repeat("y", maxLine))})
	r := serve(t, folder, View)
	want(t, r.get(cyclePath+"/steps/1"), `href="/h/agent/cycles/`+told+`"`, "echo &#34;a&#34;\nls", "<h3>n</h3>", ">3<", "7 bytes more", "/h/agent/observations/s1", `src="/h/agent/observations/p1/picture"`)
	want(t, r.get(cyclePath+"/steps/2"), "too many to be shown", "There is none")
	want(t, r.get(cyclePath), "too many to be shown")
	for path, code := range map[string]int{"/steps/3": 404, "/steps/0": 404, "/steps/x": 404, "/requests/1": 404, "/requests/x/body": 404, "/diff": 200, "?from=-1": 200, "?from=99999": 200} {
		if got, text := r.ask(http.MethodGet, cyclePath+path, nil); got != code {
			t.Errorf("%s: %d, want %d\n%s", path, got, code, text)
		}
	}
}

// TestRealCycle: what a cycle was asked and changed is shown as it was.
func TestRealCycle(t *testing.T) {
	t.Parallel()
	r := serve(t, ran(t, "agent", 3), View)
	ids := regexp.MustCompile(`/h/agent/cycles/(\d+_\d+)"`).FindAllStringSubmatch(r.get("/h/agent/cycles"), -1)
	if len(ids) != 3 {
		t.Fatal(ids)
	}
	path := "/h/agent/cycles/" + ids[0][1]
	want(t, r.get(path), ">done<", "write_file", "hello.txt")
	want(t, r.get(path+"/requests/2"), "system", "assistant", "call write_file", "hello.txt", ">Tools<")
	body := r.get(path + "/requests/2/body")
	if !json.Valid([]byte(body)) || !strings.Contains(body, `"messages"`) {
		t.Errorf("the body of the request: %.300s", body)
	}
	want(t, r.get(path+"/diff"), "completed_tasks", "+ ", "hello.txt", "added", "Hello, I was awake.")
}

func TestSides(t *testing.T) {
	for _, c := range []struct {
		was, is string
		want    []pair
	}{
		{"a\nb\n", "a\nc\n", []pair{{"a", "a", ""}, {"b", "c", "changed"}}},
		{"a\n", "", []pair{{"a", "", "removed"}}},
		{"", "a\nb", []pair{{"", "a", "added"}, {"", "b", "added"}}},
		{"a\nb\nc\n", "x\nc\n", []pair{{"a", "x", "changed"}, {"b", "", "removed"}, {"c", "c", ""}}},
	} {
		if got := sides(c.was, c.is); len(got) == 0 || !slices.Equal(got[1:], c.want) {
			t.Errorf("%q to %q: %q", c.was, c.is, got)
		}
	}
}
