package search

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
	"rouse/internal/redact"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/tools"
)

func TestMain(m *testing.M) { disktest.Main(m) }

// rig is a home with cycles, a minute apart.
type rig struct {
	*testing.T
	Index
}

func newRig(t *testing.T) *rig {
	h := home.Home{Dir: t.TempDir()}
	r := &rig{t, Index{Home: h, Redact: redact.New(map[string]string{"KEY": "sesame-open-4711"})}}
	r.must(h.MakeFolders(disk.OS{}))
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) id(n int) string {
	return time.Date(2026, 4, 1, 12, n, 0, 0, time.Local).Format(home.CycleForm)
}

// cycle writes the journal of the nth cycle.
func (r *rig) cycle(n int, events ...journal.Payload) {
	r.Helper()
	began := time.Date(2026, 4, 1, 12, n, 0, 0, time.Local)
	w, err := journal.Create(disk.OS{}, r.Home.Journal(r.id(n)), journal.NewChain([]byte("key"), r.id(n)), func() time.Time { return began })
	r.must(err)
	for _, e := range events {
		r.must(w.Append(e))
	}
	r.must(w.Close())
}

// find are the cycles and kinds that are found, the newest first.
func (r *rig) find(q Query) (list []string) {
	r.Helper()
	f, err := r.Find(context.Background(), q)
	r.must(err)
	if f.Note != "" {
		r.Errorf("%+v: %s", q, f.Note)
	}
	for _, h := range f.Hits {
		var n int
		for n = 0; n < 60 && r.id(n) != h.Cycle; n++ {
		}
		list = append(list, fmt.Sprintf("%d %s", n, h.Kind))
	}
	return list
}

func (r *rig) want(text string, want ...string) {
	r.Helper()
	if got := r.find(Query{Text: text}); !slices.Equal(got, want) {
		r.Errorf("%q: %q, want %q", text, got, want)
	}
}

func set(key string, value any) scratchpad.Change {
	return scratchpad.Change{Op: scratchpad.OpSet, Key: key, Value: value}
}

func content(s string) json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return text
}

// night is a cycle with one text of each kind.
func night() []journal.Payload {
	extend := scratchpad.Change{Op: scratchpad.OpExtend, Key: "completed_tasks", Value: []any{map[string]any{"task": "mow the lawn", "summary": "it is Ärgerlich short"}}}
	return []journal.Payload{
		&journal.State{Changes: []scratchpad.Change{set("current_task", "mow the lawn"), set("pending_actions", []any{"an old task of the queue"})}},
		&journal.Note{Step: 1, Text: "payment 48213 was refused"},
		&journal.Intent{Step: 1, Tool: "shell", Args: json.RawMessage(`{"command":"grep -r refused /var/log/pay.log"}`)},
		&journal.Result{Step: 1, Tool: "shell", OK: true, Content: content("card expired\nat 10.0.0.7 \x1b[31m\xff")},
		&journal.Intent{Step: 2, Tool: "notebook", Args: json.RawMessage(`{"action":"exec","name":"lab","code":"print(harvest)"}`)},
		&journal.Result{Step: 2, Tool: "notebook", ScratchpadID: "485d7beae4e144eb", Error: "it failed", Facts: "12 lines", Content: content("the harvest of 1987")},
		&journal.State{Changes: []scratchpad.Change{set("garden", map[string]any{"roses": 7})}},
		&journal.State{Changes: []scratchpad.Change{extend, set("current_task", nil), {Op: scratchpad.OpAppend, Key: "notes", Value: "\n[COMPLETED] it is Ärgerlich short"}}},
		&journal.Result{Step: 3, Tool: "done", OK: true, Content: content("it is Ärgerlich short")},
		&journal.Sleep{Outcome: "failed", Error: "model: connection reset by peer"},
	}
}

func TestFind(t *testing.T) {
	r := newRig(t)
	r.want("payment") // in no cycle
	r.cycle(1, night()...)
	r.cycle(2, &journal.Result{Tool: "done", OK: true, Content: content("nothing about payments")}, &journal.Sleep{})
	for text, want := range map[string][]string{
		"payment":            {"2 task", "1 note"},
		"PAYMENT refused":    {"1 note"},
		"refused":            {"1 call", "1 note"},
		`"card expired"`:     {"1 result"},
		"expired card":       {"1 result"},
		`"expired card"`:     nil,
		`"card expired`:      {"1 result"}, // a quote that nobody closed
		"/var/log/pay":       {"1 call"},
		"10.0.0.7":           {"1 result"},
		"harvest":            {"1 observation", "1 cell"},
		"1987 12":            {"1 observation"},
		"argerlich":          {"1 task"},
		"lawn":               {"1 task"},
		"old queue":          nil, // it was there before
		"roses garden":       {"1 note"},
		"reset by peer":      {"1 result"},
		"pa":                 nil, // two letters begin too much
		"pa*":                {"2 task", "1 call", "1 note"},
		"text:payment":       nil, // no syntax
		"payment OR harvest": nil,
		"NOT payment":        {"2 task"}, // nothing
	} {
		r.want(text, want...)
	}
	if got := r.find(Query{Text: "payment OR harvest", Any: true}); len(got) != 4 {
		t.Errorf("any: %q", got)
	}
	if got := r.find(Query{Text: "payment", Kinds: []Kind{Note, Call}}); !slices.Equal(got, []string{"1 note"}) {
		t.Errorf("of a kind: %q", got)
	}
	if got := r.find(Query{Text: "payment", Since: r.id(2)}); !slices.Equal(got, []string{"2 task"}) {
		t.Errorf("since: %q", got)
	}
	f, err := r.Find(context.Background(), Query{Text: "harvest", Limit: 1})
	r.must(err)
	if len(f.Hits) != 1 || !f.More || f.Hits[0].ID != "485d7beae4e144eb" || f.Hits[0].Step != 2 || f.Hits[0].Time.Format("15:04") != "12:01" {
		t.Errorf("%+v", f)
	}
	info, err := os.Stat(r.Home.Search())
	if r.must(err); info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
}

// What is new is found by the next search, what is gone is not, whichever way it went.
func TestGrows(t *testing.T) {
	r := newRig(t)
	r.cycle(1, &journal.Note{Text: "about apples"}, &journal.Sleep{})
	r.cycle(2, &journal.Note{Text: "about apples and pears"})
	r.want("apples", "2 note", "1 note")
	lines, err := os.ReadFile(r.Home.Journal(r.id(2)))
	r.must(err)
	for n := range 40 { // so that no other journal is among the newest
		r.cycle(n+3, &journal.Sleep{})
	}
	add := strings.ReplaceAll(string(lines), "apples and pears", "plums")
	r.must(os.WriteFile(r.Home.Journal(r.id(2)), append(lines, add...), 0o600))
	r.want("plums", "2 note")
	r.want("apples", "2 note", "1 note")
	r.must(os.WriteFile(r.Home.Journal(r.id(2)), lines[:len(lines)-3], 0o600)) // no line is whole
	r.want("about", "1 note")
	r.must(os.Remove(r.Home.Journal(r.id(1))))
	r.want("about")
	r.cycle(50, &journal.Note{Text: "late apples"}, &journal.Sleep{})
	r.want("apples", "50 note")

	// A journal of long ago that somebody changed is seen within an hour.
	r.must(os.WriteFile(r.Home.Journal(r.id(3)), lines, 0o600))
	r.want("pears")
	r.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	r.want("pears", "3 note")
	r.Now = func() time.Time { return time.Now().AddDate(-1, 0, 0) } // the clock went back
	r.want("pears", "3 note")
}

// What left the memory is found where its cycles are gone.
func TestLeft(t *testing.T) {
	r := newRig(t)
	entry := func(n int, text string) string {
		return fmt.Sprintf(`{"cycle":%q,"n":1,"entry":{"task":%q,"summary":"done"}}`+"\n", r.id(n), text)
	}
	add := func(path, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		r.must(err)
		_, err = f.WriteString(text)
		r.must(err)
		r.must(f.Close())
	}
	done := scratchpad.Change{Op: scratchpad.OpExtend, Key: "completed_tasks", Value: []any{map[string]any{"task": "wash the car", "summary": "done"}}}
	r.cycle(3, &journal.State{Changes: []scratchpad.Change{done}}, &journal.Sleep{})
	add(r.Home.Archive(), entry(1, "feed the cat")+"{half a line\n"+entry(4, "wash the car"))
	add(r.Home.DroppedNotes(), "--- dropped from the notes by cycle "+r.id(2)+"\n[TOOL] shell(cat)\n[NOTE] the cat purrs\nas a person wrote of cats\n")
	r.want("cat", "2 note", "2 note", "1 task")
	r.want("wash", "3 task") // once, by the cycle that did it
	add(r.Home.Archive(), entry(5, "comb the cat"))
	add(r.Home.DroppedNotes(), "--- dropped from the notes by cycle "+r.id(6)+"\n[NOTE] cats shed\n")
	r.want("cat", "6 note", "5 task", "2 note", "2 note", "1 task")
	r.must(os.Rename(r.Home.DroppedNotes(), r.Home.DroppedNotes()+home.Aside))
	add(r.Home.DroppedNotes(), "--- dropped from the notes by cycle "+r.id(7)+"\n[NOTE] cats sleep\n")
	r.want("cat", "7 note", "6 note", "5 task", "2 note", "2 note", "1 task")
	r.must(os.WriteFile(r.Home.Archive(), []byte(entry(8, "a cat is all")), 0o600))
	r.want("cat", "8 task", "7 note", "6 note", "2 note", "2 note")
}

// Whatever becomes of the index, the files are what is found.
func TestRebuilt(t *testing.T) {
	r := newRig(t)
	r.cycle(1, night()...)
	r.want("harvest", "1 observation", "1 cell")
	path := r.Home.Search()
	whole, err := os.ReadFile(path)
	r.must(err)
	for name, harm := range map[string]func() error{
		"gone":    func() error { return os.Remove(path) },
		"noise":   func() error { return os.WriteFile(path, []byte(strings.Repeat("noise", 5000)), 0o600) },
		"empty":   func() error { return os.WriteFile(path, nil, 0o600) },
		"a third": func() error { return os.Truncate(path, int64(len(whole)/3)) },
		"version": func() error { return r.pragma("PRAGMA user_version = 7") },
		"table":   func() error { return r.pragma("DROP TABLE files") },
		"rows":    func() error { return r.pragma("DELETE FROM texts_data") },
		"a link":  func() error { r.must(os.Remove(path)); return os.Symlink("../rules.md", path) },
	} {
		r.must(harm())
		t.Run(name, func(t *testing.T) {
			r := rig{t, r.Index}
			r.want("harvest", "1 observation", "1 cell")
			r.want("payment", "1 note")
		})
	}
	r.must(os.Remove(path))
	r.must(os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
	f, err := r.Find(context.Background(), Query{Text: "harvest"})
	if r.must(err); len(f.Hits) != 2 || !strings.Contains(f.Note, "without an index") {
		t.Errorf("%+v", f)
	}
}

func (r *rig) pragma(statement string) error {
	x := r.Index
	if err := x.connect(r.Home.Search()); err != nil {
		return err
	}
	defer x.db.Close()
	_, err := x.db.Exec(statement)
	return err
}

// Several searches at once, and while cycles write, find all that was there before.
func TestTogether(t *testing.T) {
	r := newRig(t)
	var wait sync.WaitGroup
	for n := range 8 {
		r.cycle(n, &journal.Note{Text: "about apples"}, &journal.Sleep{})
		wait.Go(func() {
			f, err := r.Find(context.Background(), Query{Text: "apples"})
			if err != nil || f.Note != "" || len(f.Hits) < n+1 {
				t.Errorf("%d: %d hits, %q, %v", n, len(f.Hits), f.Note, err)
			}
		})
	}
	wait.Wait()
}

// No secret is found, nor a part of one, also not where it was not known when it was
// written.
func TestSecrets(t *testing.T) {
	r := newRig(t)
	r.cycle(1, &journal.Note{Text: strings.Repeat("x ", 90) + "the key is sesame-open-4711, quoth Ali " + strings.Repeat("y ", 90)}, &journal.Sleep{})
	r.want("sesame")
	x := r.Index
	r.Redact = redact.New(map[string]string{"NAME": "quoth Ali"})
	for _, text := range []string{"quoth", "ali", "xx*", "yy*", "KEY", `"y"`} {
		f, err := r.Find(context.Background(), Query{Text: text})
		r.must(err)
		for _, h := range f.Hits {
			if strings.Contains(h.Excerpt, "quoth") || strings.Contains(h.Excerpt, "Ali") || strings.Contains(h.Excerpt, "sesame") {
				t.Errorf("%q: %q", text, h.Excerpt)
			}
		}
	}
	data, err := os.ReadFile(x.Home.Search())
	if r.must(err); strings.Contains(string(data), "sesame") {
		t.Error("a secret is in the index")
	}
}

// What the model recalls is little, each text once, and not its own of now.
func TestRecall(t *testing.T) {
	r := newRig(t)
	for n := range 30 {
		r.cycle(n, &journal.Note{Text: fmt.Sprintf("apples %d %s", n/2, strings.Repeat("and more of them ", 50))}, &journal.Intent{Tool: "shell", Args: json.RawMessage(`{"command":"apples"}`)}, &journal.Sleep{})
	}
	ask := func(args string) string {
		t.Helper()
		res := r.Tool().Run(context.Background(), tools.Call{Args: json.RawMessage(args)})
		if !res.OK {
			return "error: " + res.Error
		}
		return fmt.Sprint(res.Content)
	}
	got := ask(`{"query":"apples"}`)
	if strings.Count(got, "\n") != recalled || len(got) > 4000 || !strings.HasPrefix(got, "2026-04-01 cycle "+r.id(28)+", note: apples 14 and more") || strings.Contains(got, "apples 0") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	for args, want := range map[string]string{
		`{"query":"apples pears 3"}`:               "Nothing has all of these words; some of them:\n2026-04-01 cycle " + r.id(7) + ", note: apples 3",
		`{"query":"pears"}`:                        "Nothing was noted",
		`{"query":"apples","since":"2026-04-02"}`:  "Nothing was noted",
		`{"query":"apples","since":"last summer"}`: `error: since "last summer": write`,
		`{"query":"?!"}`:                           "error: there is no word",
	} {
		if got := ask(args); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// A search that is interrupted while it fills the index leaves one that the next fills.
func TestInterrupted(t *testing.T) {
	r := newRig(t)
	for n := range 3 {
		r.cycle(n, &journal.Note{Text: "about apples"}, &journal.Sleep{})
	}
	x := r.Index
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Find(over, Query{Text: "apples"}); err == nil {
		t.Error("an interrupted search found something")
	}
	r.want("apples", "2 note", "1 note", "0 note")
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 4, 8, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]string{
		"": "", "36h": "20260407_000000", "7d": "20260401_120000", "0d": "20260408_120000", "2026-04-01": "20260401_000000", "20260401_150154": "20260401_150154",
		"week": "error", "-1h": "error", "d": "error", "7d5": "error", "-7d": "error", "99999999999999999d": "error",
	} {
		got, err := Since(text, now)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What somebody else wrote into the files does no harm, and hides nothing.
func TestPoisoned(t *testing.T) {
	r := newRig(t)
	event := func(rest string) string { return `{"v":1,"seq":1,"time":"2026-04-01T12:00:00Z",` + rest + "}\n" }
	write := func(path string, lines ...string) { r.must(os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600)) }
	write(r.Home.Journal(r.id(1)), "\xff\x00\n", strings.Repeat("[", 100_000)+"\n", "{\n",
		event(`"event":"result","tool":"shell","ok":true,"content":"plum `+strings.Repeat("x", maxLine)+`"`),
		event(`"event":"note","step":1e99,"text":"plum"`),
		event("\"event\":\"note\",\"text\":\"\xff\\u001b]0;plum\\u202e \\ud800\""),
		strings.Replace(event(`"event":"note","text":"plum of the year 9999"`), "2026-04-01T12:00:00Z", "9999-12-31T23:59:59-12:00", 1),
		event(`"event":"state","changes":[{"op":"extend","key":"completed_tasks","value":[[["plum"]],{"task":{"a":"plum"},"summary":["x"]},null]}]`),
		event(`"event":"note","text":"plum at the end, cut off`))
	write(r.Home.Journal("99999999_999999"), event(`"event":"note","text":"plum"`))
	write(r.Home.Archive(), fmt.Sprintf(`{"cycle":%q,"n":-7,"entry":"a negative plum"}`+"\n", r.id(2)), `{"cycle":"plum","n":1,"entry":"plum"}`+"\n", "plum")
	write(r.Home.DroppedNotes(), "plum\n--- dropped from the notes by cycle ../../plum\nplum\n")
	r.must(unix.Mkfifo(r.Home.Journal(r.id(3)), 0o600))
	r.want("plum", "2 task", "1 task", "1 task", "1 note", "1 note")
	f, err := r.Find(context.Background(), Query{Text: "plum"})
	r.must(err)
	if _, err := json.Marshal(f.Hits); err != nil || strings.ContainsAny(fmt.Sprint(f.Hits), "\x1b\u202e") {
		t.Errorf("%v: %+v", err, f.Hits)
	}
}

// No query is an error of the index.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"a", `"`, `a "b c" d*`, "AND OR NOT NEAR(a b)", "text : x ^y", "\x00\xff", "“quoted”", "日本", "ⅷ ² ٣", "( ) * + - ."} {
		f.Add(s)
	}
	x := Index{Home: home.Home{Dir: f.TempDir()}}
	if err := x.connect(""); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, any := range []bool{false, true} {
			match, err := expression(s, any)
			if err != nil {
				continue
			}
			if _, err := x.ask(context.Background(), match, Query{Any: any}); err != nil {
				t.Errorf("%q is %s: %v", s, match, err)
			}
		}
	})
}
