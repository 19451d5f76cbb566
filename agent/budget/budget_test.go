package budget

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk"
)

var noon = time.Date(2026, 4, 30, 12, 0, 0, 0, time.Local)

// open is a budget of a folder as another process would have it.
func open(dir string, l Limits, now *time.Time) *Budget {
	return &Budget{Path: dir + "/spend.jsonl", Limits: l, Currency: "USD", Disk: quick{disk.OS{}}, Now: func() time.Time { return *now }}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		steps  []Amount // settled as reserved
		want   string   // the error of the last one
	}{
		{"no limit", Limits{}, []Amount{{Tokens: 1e9}}, ""},
		{"one request", Limits{Call: Amount{Tokens: 10}}, []Amount{{Tokens: 10}, {Tokens: 11}}, "call_tokens: 0 tokens of 10 tokens used, and the next step may need 11 tokens"},
		{"cycle", Limits{Cycle: Amount{Tokens: 10}}, []Amount{{Tokens: 5}, {Tokens: 5}, {Tokens: 1}}, "cycle_tokens: 10 tokens of 10 tokens used"},
		{"day", Limits{Day: Amount{Money: billion}}, []Amount{{Money: billion / 2}, {Money: billion/2 + 1}}, "day_money: 0.5 USD of 1 USD used"},
		{"month", Limits{Month: Amount{Calls: 2}}, []Amount{{Calls: 1}, {Calls: 1}, {Calls: 1}}, "month_calls: 2 tool calls of 2 tool calls used, and the next step may need 1 tool call"},
		{"another thing", Limits{Day: Amount{Calls: 1}}, []Amount{{Calls: 1}, {Tokens: 9, Money: 9}}, ""},
	}
	for _, tt := range tests {
		now, dir := noon, t.TempDir()
		var err error
		for _, want := range tt.steps {
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			var h Held
			b := open(dir, tt.limits, &now) // each in another process, of one cycle
			b.Begin("c")
			if h, err = b.Reserve(t.Context(), want); err == nil {
				err = b.Settle(h, want)
			}
		}
		if got := errors.As(err, new(*Exceeded)); got != (tt.want != "") || got && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A day and a month end with the local calendar, a cycle with its id; a
// settlement belongs to the day of its reservation.
func TestCalendar(t *testing.T) {
	now, dir := noon, t.TempDir()
	b := open(dir, Limits{Cycle: Amount{Tokens: 10}, Day: Amount{Tokens: 15}, Month: Amount{Tokens: 20}}, &now)
	try := func(cycle string, n Count, want string) Held {
		t.Helper()
		b.Begin(cycle)
		h, err := b.Reserve(t.Context(), Amount{Tokens: n})
		var e *Exceeded
		errors.As(err, &e)
		if (want == "") != (err == nil) || want != "" && (e == nil || e.Name != want) {
			t.Errorf("%s %d: %v, want %q", cycle, n, err, want)
		}
		return h
	}
	late := try("a", 10, "")
	try("a", 1, "cycle_tokens")
	try("b", 6, "day_tokens")
	now = now.Add(12 * time.Hour) // the first of May
	if err := b.Settle(late, Amount{Tokens: 2}); err != nil {
		t.Fatal(err)
	}
	try("a", 8, "")
	now = now.AddDate(0, 0, 1)
	try("c", 10, "")
	now = now.AddDate(0, 0, 1)
	try("d", 3, "month_tokens")
	now = noon
	try("d", 10, "") // the clock went back: 2 + 10 in April
	try("e", 4, "day_tokens")
}

func TestWarning(t *testing.T) {
	now := noon
	b := open(t.TempDir(), Limits{Day: Amount{Tokens: 100, Calls: 2}}, &now)
	for _, tt := range []struct {
		tokens Count
		warned bool
	}{{70, false}, {10, false}, {1, true}, {19, true}} {
		h, err := b.Reserve(t.Context(), Amount{Tokens: tt.tokens})
		if err != nil || (h.Warning != "") != tt.warned {
			t.Errorf("%d: %q, %v", tt.tokens, h.Warning, err)
		}
	}
	if err := errors.Join(b.Call(t.Context()), b.Call(t.Context())); err != nil {
		t.Error(err)
	}
	if err := b.Call(t.Context()); err == nil {
		t.Error("a third call of two")
	}
}

// Without limits nothing is opened, nor asked of the disk.
func TestNoLimits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, b := range []*Budget{nil, {Path: dir + "/spend.jsonl"}} {
		b.Begin("c")
		h, err := b.Reserve(t.Context(), Amount{Tokens: 1})
		if err := errors.Join(err, b.Settle(h, Amount{}), b.Call(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("something was made")
	}
}

// A large ledger is summed up without a change of what may still be spent, and
// without losing what lives: a reservation of a process that runs is settled
// later, one of a process that died stays spent.
func TestCompact(t *testing.T) {
	now, dir := noon, t.TempDir()
	limits := Limits{Cycle: Amount{Tokens: 1e9}, Month: Amount{Tokens: 1e9, Calls: 1e9}}
	b := open(dir, limits, &now)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	old := noon.AddDate(0, 0, -70)
	for i := range 1000 {
		now = noon.AddDate(0, 0, -3+i/300)
		if i < 5 {
			now = old
		}
		b.Begin([]string{"a", "b", "c"}[i%3])
		h, err := b.Reserve(t.Context(), Amount{Tokens: 100})
		must(errors.Join(err, b.Settle(h, Amount{Tokens: 7}), b.Call(t.Context())))
	}
	now = noon
	b.Begin("a")
	live, err := b.Reserve(t.Context(), Amount{Tokens: 50})
	must(err)
	dead, err := b.Reserve(t.Context(), Amount{Tokens: 60})
	must(err)
	text, err := os.ReadFile(b.Path)
	must(err)
	lines := strings.SplitAfter(string(text), "\n")
	last := len(lines) - 2
	lines[last] = strings.Replace(lines[last], `"start":`, `"start":1`, 1) // another process's
	must(os.WriteFile(b.Path, []byte(strings.Join(lines, "")), 0o600))

	day, month, err := open(dir, limits, &now).Spent(t.Context()) // sums up
	must(err)
	info, err := os.Stat(b.Path)
	must(err)
	before := len(text)
	if info.Size() > 4<<10 {
		t.Errorf("%d bytes of %d are left", info.Size(), before)
	}
	// The days before today have 295, 300 and 300 of the rest.
	if want := Count(100*7 + 50 + 60); day.Tokens != want || month.Tokens != want+895*7 || month.Calls != 995 {
		t.Errorf("day %+v, month %+v", day, month)
	}
	must(b.Settle(live, Amount{Tokens: 1}))
	must(b.Settle(dead, Amount{Tokens: 1}))
	next := open(dir, limits, &now)
	day, _, err = next.Spent(t.Context())
	must(err)
	if want := Count(100*7 + 1 + 60); day.Tokens != want {
		t.Errorf("after settling: %+v, want %d", day, want)
	}
	next.Begin("a")
	if cycle := next.read.cycles["a"].Tokens; cycle == 0 || next.read.cycles["b"].Tokens == 0 {
		t.Error("cycles of today are forgotten")
	}
	t.Logf("%d bytes → %d", before, info.Size())
}

// The lock waits for nobody longer than the context does.
func TestLockEnds(t *testing.T) {
	now, dir := noon, t.TempDir()
	b, other := open(dir, Limits{Day: Amount{Tokens: 1}}, &now), open(dir, Limits{Day: Amount{Tokens: 1}}, &now)
	err := b.locked(t.Context(), func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := other.Reserve(ctx, Amount{Tokens: 1})
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) && (err == nil || !strings.Contains(err.Error(), "lock the spend ledger")) {
		t.Errorf("%v", err)
	}
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte(`{"v":1,"event":"reserve","id":"a","day":"2026-04-30","tokens":5}` + "\n" + `{"v":1,"ev{"v":1,"event":"settle","id":"a","day":"2026-04-30"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		now := noon
		b := open(t.TempDir(), Limits{Day: Amount{Tokens: 100}}, &now)
		if err := os.WriteFile(b.Path, append(data, "\x00garbage"...), 0o600); err != nil {
			t.Fatal(err)
		}
		before, _, err := b.Spent(t.Context())
		if err != nil || before.Tokens < 0 || before.Tokens > 100 {
			return
		}
		if _, err := b.Reserve(t.Context(), Amount{Tokens: 100 - before.Tokens}); before.Tokens < 100 && err != nil {
			t.Fatal(err)
		}
		if after, _, err := open(filepath.Dir(b.Path), b.Limits, &now).Spent(t.Context()); err != nil || after.Tokens != 100 {
			t.Errorf("%+v, %v", after, err)
		}
	})
}

func TestUses(t *testing.T) {
	now := noon
	b := open(t.TempDir(), Limits{Cycle: Amount{Tokens: 5}, Day: Amount{Money: 2 * billion}, Month: Amount{Calls: 1}}, &now)
	_, err := b.Reserve(t.Context(), Amount{Money: billion / 4, Calls: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Uses(t.Context())
	want := []Use{{"day_money", "0.25 USD", "2 USD", "0.25", "2"}, {"month_calls", "1 tool call", "1 tool call", "1", "1"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// What cannot be read of the ledger is said; what stands in its place is not waited for.
func TestDamage(t *testing.T) {
	now := noon
	dir := t.TempDir()
	limits := Limits{Day: Amount{Calls: 5}}
	b := open(dir, limits, &now)
	if err := b.Call(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := b.Damage(t.Context()); text != "" || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if err := os.WriteFile(b.Path, []byte("\x00\x00\x00\nnot from us\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b = open(dir, limits, &now)
	if text, err := b.Damage(t.Context()); !strings.HasPrefix(text, "2 lines of spend.jsonl cannot be read") || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if err := errors.Join(os.Remove(b.Path), syscall.Mkfifo(b.Path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := b.Call(t.Context()); err == nil || !strings.Contains(err.Error(), "spend.jsonl is not a regular file; move it away") {
		t.Error(err)
	}
}

// Spent says what the ledger has for the day and the month.
func (b *Budget) Spent(ctx context.Context) (day, month Amount, err error) {
	err = b.locked(ctx, func() error {
		today := b.today()
		day, month = b.read.days[today], b.read.month(today[:len("2006-01")])
		return nil
	})
	return day, month, err
}
