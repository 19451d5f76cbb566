package page

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/agent"
	"rouse/agent/schedule"
	"rouse/home"
	"rouse/internal/sse"
	"rouse/setup"
)

// many makes homes with so many cycles each, the newest an hour ago and one each half an hour.
func many(t testing.TB, homes, cycles int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	at := time.Now().Truncate(time.Hour).Add(-time.Duration(cycles) * 30 * time.Minute)
	files := map[string]string{
		"rules.md":    "be good",
		"rouse.yaml":  "schedule: {cron: '*/30 * * * *', missed: latest, task: look}\nlimits: {day: {tokens: 200_000, money: 2}}\nmodel: {name: m}\n",
		"prices.yaml": "currency: EUR\nmodels:\n  m: {input: 1, output: 10}\n", "scratchpad/active.yaml": "goals: [watch]\n",
	}
	first := home.Home{Dir: filepath.Join(folder, "a home 000")}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(filepath.Join(first.Dir, name), text)
	}
	s, err := setup.Look(first, setup.Process{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	for range cycles {
		at = at.Add(30 * time.Minute)
		id, exit := at.Format(home.CycleForm), 0
		ledger := &schedule.Ledger{Path: first.Slots(), Now: func() time.Time { return at }, Since: at.Add(-time.Minute)}
		slot, err := ledger.Due(s.Config.Schedule, nil)
		if slot == nil || err != nil {
			t.Fatal(slot, err)
		}
		if err := slot.Settle(schedule.Result{Cycle: id, Exit: exit}); err != nil {
			t.Fatal(err)
		}
		line := `{"v":1,"seq":%d,"event":"reply","text":"x","model":"m","usage":{"input":1000,"output":10}}` + "\n"
		write(first.Journal(id), strings.Repeat(fmt.Sprintf(line, 1), 8)+`{"v":1,"seq":9,"event":"sleep","outcome":"done","exit":0,"task":"claimed"}`+"\n")
		write(first.Before(id), "goals: [watch]\n")
		write(first.After(id), "goals: [watch]\nnotes: x\n")
	}
	for i := 1; i < homes; i++ {
		if err := os.CopyFS(filepath.Join(folder, fmt.Sprintf("a home %03d", i)), os.DirFS(first.Dir)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestHomes shows a row of each home, whatever is wrong with one, finds some, and keeps the rows up to date.
func TestHomes(t *testing.T) {
	t.Parallel()
	folder := many(t, 4, 3)
	bad := home.Home{Dir: filepath.Join(folder, "a home 001")}
	if err := os.WriteFile(bad.Config(), []byte("loop: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serve(t, folder, View)
	text := r.get("/")
	for _, want := range []string{"4 of 4 homes", "unknown key", "not opened", "claimed</span>", "<svg", "3 ran", "of 200000 tokens", `href="/h/a%20home%20002"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if text := r.get("/?find=HOME+002&page=9"); !strings.Contains(text, "1 of 4 homes") || strings.Contains(text, "home%20003") {
		t.Error(text)
	}
	res, err := r.Get(r.URL + "/live?find=home+002")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	read := sse.NewReader(res.Body, 1<<20)
	event := func() string {
		for {
			if e, err := read.Next(); err != nil || e.Name == "set" {
				return string(e.Data)
			}
		}
	}
	if text := event(); !strings.Contains(text, "home%20002") || strings.Contains(text, "paused") {
		t.Error(text)
	}
	if err := os.WriteFile(home.Home{Dir: filepath.Join(folder, "a home 002")}.Stop(), []byte("a holiday"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := event(); !strings.Contains(text, "a holiday") || !strings.Contains(text, "but the home is paused") {
		t.Error(text)
	}
}

// TestStanding shows of one home what happened, what it remembers and from where, and what is to come.
func TestStanding(t *testing.T) {
	t.Parallel()
	h := home.Home{Dir: filepath.Join(many(t, 1, 3), "a home 000")}
	for path, text := range map[string]string{
		h.Active(): "last_updated: then\nlessons: [" + strings.Repeat("x, ", 20) + "x]\ngoals: [watch]\nnotes: |\n  mine\n  [NOTE from mcp evil] <b>theirs</b>\n", h.Stop(): "a holiday",
		h.Config(): "schedule: {cron: '*/30 * * * *', not_before: '08:00', not_after: '16:00'}\nlimits: {day: {tokens: 200_000}}\nmodel: {name: m}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := serve(t, filepath.Dir(h.Dir), Act)
	text := r.get("/h/a%20home%20000?since=7d")
	for _, want := range []string{
		`href="/h/a%20home%20000/cycles/`, "a holiday", ">paused</span>", ">window</span>", `class="outside"><span class="badge warn">from mcp evil</span>`,
		"&lt;b&gt;theirs", "0 tokens of 200000 tokens", "notes <span class=\"quiet\">by you, after cycle", "goals</h3>", "The newest 3 slots", `id="act"`, "<summary>13 earlier lines", "<summary>The 45 after them",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, "last_updated") {
		t.Error("every edit writes it", text)
	}
	if code, text := r.ask(http.MethodGet, "/h/a%20home%20000?since=yesterday", nil); code != http.StatusBadRequest {
		t.Error(code, text)
	}
}

// TestCost shows what homes used by day, model and home, and why one could not be read.
func TestCost(t *testing.T) {
	t.Parallel()
	folder := many(t, 3, 2)
	if err := os.WriteFile(home.Home{Dir: filepath.Join(folder, "a home 001")}.Config(), []byte("loop: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serve(t, folder, View)
	for path, wants := range map[string][]string{
		"/cost":                  {"a home 001: read rouse.yaml", "0.0352 EUR", ">32000<", `scope="row">m</th>`, `scope="row">a home 002</th>`, "Tokens of each day", "<svg"},
		"/h/a%20home%20002/cost": {"0.0176 EUR", ">16000<", "limit of a day: 200000", "What each day cost, in EUR"},
	} {
		text := r.get(path)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
	}
	if code, _ := r.ask(http.MethodGet, "/cost?since=yesterday", nil); code != http.StatusBadRequest {
		t.Error(code)
	}
}

// TestToday: each cycle of the day counts once, however often it is looked, and one that is awake when it has ended.
func TestToday(t *testing.T) {
	h := home.Home{Dir: t.TempDir()}
	if err := os.Mkdir(h.Logs(), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := setup.Look(h, setup.Process{Now: func() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local) }})
	if err != nil {
		t.Fatal(err)
	}
	r := &kept{}
	for _, step := range []struct{ cycle, outcome, want string }{
		{"20261121_235959", "done", "0 tokens"}, {"20261122_000000", "done", "10 tokens"}, {"20261122_000000", "done", "10 tokens"}, {"20261122_080000", "done", "20 tokens"},
		{"20261122_090000", agent.Awake, "20 tokens"}, {"20261122_090000", agent.Awake, "20 tokens"}, {"20261122_090000", "done", "30 tokens"},
	} {
		if err := os.WriteFile(h.Journal(step.cycle), []byte(`{"v":1,"seq":1,"event":"reply","text":"","usage":{"input":9,"output":1}}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		g := overview{}
		if err := r.addCost(&g, s, &agent.Summary{Cycle: step.cycle, Outcome: step.outcome}); err != nil || g.Cost != step.want {
			t.Errorf("%v: %s, %v", step, g.Cost, err)
		}
	}
}

// TestFollowed: so many pages are kept up to date, and a further one is told why not.
func TestFollowed(t *testing.T) {
	t.Parallel()
	r := serve(t, t.TempDir(), View)
	r.streams.Store(mostStreams)
	if code, text := r.ask(http.MethodGet, "/live", nil); code != http.StatusServiceUnavailable || !strings.Contains(text, "too many") {
		t.Error(code, text)
	}
}

// BenchmarkHomes is the first byte of two hundred homes of fifty cycles, when all are read and when none has changed.
func BenchmarkHomes(b *testing.B) {
	folder := many(b, 200, 50)
	r := serve(b, folder, View)
	r.glances.patience = 60 * time.Millisecond
	first := func() {
		res, err := r.Get(r.URL + "/")
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res, err)
		}
		n := make([]byte, 1)
		if _, err := res.Body.Read(n); err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
	}
	for _, what := range []string{"cold", "warm"} {
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				if what == "cold" {
					r.glances.of = map[string]*kept{}
				}
				first()
			}
		})
	}
}

// TestLate: homes that take long to read keep nobody waiting, and come later.
func TestLate(t *testing.T) {
	t.Parallel()
	r := serve(t, many(t, 3, 1), View)
	r.glances.patience = 0
	if text := r.get("/"); strings.Count(text, "is being read") == 0 && strings.Count(text, `<span class="badge`) < 3 {
		t.Error(text)
	}
	r.glances.patience = time.Minute
	if text := r.get("/"); strings.Contains(text, "is being read") {
		t.Error(text)
	}
}
