package schedule

import (
	"slices"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// silence settles an attempt whose cycle got no reply from the model.
func (d *desk) silence(a *Attempt) {
	d.t.Helper()
	if err := a.Settle(Result{Cycle: "20260101_000000", Exit: 1, Error: "no model", Again: a.Again()}); err != nil {
		d.t.Fatal(err)
	}
}

// next is when the ledger wants to be asked again.
func (d *desk) next(l List) string {
	d.t.Helper()
	next, err := d.NextDue(l)
	if err != nil {
		d.t.Fatal(err)
	}
	return next.UTC().Format(time.TimeOnly)
}

func TestTriedAgain(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC")}
	d.due("", l, nil)
	for i, step := range []struct{ at, again string }{
		{"10:00:01", "10:05:01"}, {"10:05:30", "10:20:30"}, {"10:21:00", "10:51:00"},
	} {
		a, got := d.due("2026-01-01T"+step.at+"Z", l, nil)
		d.want(got, "10:00 ran")
		if a.Slot.Attempt != i+1 {
			t.Errorf("attempt %d, want %d", a.Slot.Attempt, i+1)
		}
		d.silence(a)
		d.want(d.next(l), step.again)
		_, got = d.due("", l, nil)
		d.want(got, "nothing")
	}
	a, got := d.due("2026-01-01T10:51:00Z", l, nil)
	d.want(got, "10:00 ran")
	d.silence(a) // the fourth is the last
	d.want(d.next(l), "11:00:00")
	d.want(d.ends(), "10:00 ran")
	lines, err := d.Ledger.all()
	if err != nil {
		t.Fatal(err)
	}
	if r := lines[len(lines)-1]; r.Attempt != 4 || !r.Again.IsZero() || r.Exit == nil || *r.Exit != 1 {
		t.Errorf("%+v", r)
	}
}

// What ends it before a slot is tried again: the entry's next slot, the hour, a gate,
// the schedule that another hand changed, the clock.
func TestNotTriedAgain(t *testing.T) {
	hourly := func(change ...func(*Entry)) List { return List{mustNew(t, "0 * * * *", "UTC", change...)} }
	rests := func(Slot) (string, string) { return "paused", "on holiday" }
	for _, tt := range []struct {
		name, now string
		then      List
		gate      Gate
		took      string // at now
		ends      string
	}{
		{"later", "10:04:00", hourly(), nil, "nothing", "10:00 ran"},
		{"again", "10:59:59", hourly(), nil, "10:00 ran", "10:00 running"},
		{"next", "11:00:00", hourly(), nil, "11:00 ran", "10:00 ran next, 11:00 running"},
		{"nobody was there", "14:30:00", hourly(), nil, "14:00 caught_up", "10:00 ran next, 11:00 missed x3, 14:00 running"},
		{"window", "10:10:00", hourly(func(e *Entry) { e.NotAfter.text = "10:05" }), nil, "nothing", "10:00 ran window"},
		{"gate", "10:10:00", hourly(), rests, "nothing", "10:00 ran paused"},
		{"off", "10:10:00", hourly(func(e *Entry) { e.Retry = nil }), nil, "nothing", "10:00 ran off"},
		{"removed", "10:10:00", nil, nil, "nothing", "10:00 ran removed"},
		{"clock", "09:10:00", hourly(), nil, "nothing", "10:00 ran clock"},
	} {
		d := newDesk(t, "2026-01-01T09:30:00Z")
		d.due("", hourly(), nil)
		a, _ := d.due("2026-01-01T10:00:01Z", hourly(), nil)
		d.silence(a)
		_, took := d.due("2026-01-01T"+tt.now+"Z", tt.then, tt.gate)
		if ends := d.ends(); took != tt.took || ends != tt.ends {
			t.Errorf("%s: took %s, %s; want %s, %s", tt.name, took, ends, tt.took, tt.ends)
		}
		sum, err := d.Summary(tt.then)
		if waits := tt.name == "later"; err != nil || (sum.Again != nil) != waits {
			t.Errorf("%s: %+v %v", tt.name, sum.Again, err)
		}
	}
}

// A slot is not tried again where its entry's next one comes first.
func TestNoTimeToTryAgain(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:59:30Z")
	l := List{mustNew(t, "*/5 * * * *", "UTC")}
	d.due("", l, nil)
	a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
	d.silence(a)
	d.want(d.next(l), "10:05:00")
}

// What kept a further attempt from waking is not what the slot came to.
func TestTriedAgainInVain(t *testing.T) {
	for _, tt := range []struct {
		res  Result
		next string
		ends string
	}{
		{Result{Awake: true}, "10:06:10", "10:00 ran"},
		{Result{Exit: 2, Error: "rouse.yaml: line 3"}, "11:00:00", "10:00 ran error"},
	} {
		d := newDesk(t, "2026-01-01T09:30:00Z")
		l := List{mustNew(t, "0 * * * *", "UTC")}
		d.due("", l, nil)
		a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
		d.silence(a)
		a, _ = d.due("2026-01-01T10:05:10Z", l, nil)
		if err := a.Settle(tt.res); err != nil {
			t.Fatal(err)
		}
		d.want(d.next(l), tt.next)
		d.want(d.ends(), tt.ends)
	}
}

// A further attempt that is killed is unknown, as any other.
func TestTriedAgainAndKilled(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC")}
	d.due("", l, nil)
	a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
	d.silence(a)
	d.due("2026-01-01T10:05:10Z", l, nil)
	d.dead[1], d.self.PID = true, 2
	_, got := d.due("2026-01-01T10:06:00Z", l, nil)
	d.want(got, "nothing")
	d.want(d.ends(), "10:00 unknown")
	d.want(d.next(l), "11:00:00")
}

// A wake that a cycle asked for is not lost either.
func TestAskedAndTriedAgain(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	if err := d.Ask(NextWake, at(t, "2026-01-01T10:00:00Z")); err != nil {
		t.Fatal(err)
	}
	a, _ := d.due("2026-01-01T10:00:00Z", nil, nil)
	d.silence(a)
	d.want(d.next(nil), "10:05:00")
	a, got := d.due("2026-01-01T10:05:00Z", nil, nil)
	d.want(got, "10:00 ran")
	d.settle(a)
	d.want(d.ends(), "10:00 ran")
	_, got = d.due("2026-01-01T10:30:00Z", nil, nil)
	d.want(got, "nothing")
}

func TestReadRetry(t *testing.T) {
	minutes := func(list ...int) (all []time.Duration) {
		for _, n := range list {
			all = append(all, time.Duration(n)*time.Minute)
		}
		return all
	}
	for text, want := range map[string][]time.Duration{
		"'@daily'": minutes(5, 15, 30), "{cron: '@daily', retry: off}": nil, "{cron: '@daily', retry: []}": nil,
		"{cron: '@daily', retry: [1m, 2h]}": minutes(1, 120), "{cron: '@daily', retry: 10m}": minutes(10),
	} {
		var l List
		err := yaml.Unmarshal([]byte(text), &l)
		if err != nil || !slices.Equal(l[0].Retry, want) {
			t.Errorf("%s: %v %v", text, l, err)
		}
	}
	for _, text := range []string{"no", "[soon]", "[0s]", "{a: 1m}", "[1m,1m,1m,1m,1m,1m,1m,1m,1m,1m,1m]"} {
		if err := yaml.Unmarshal([]byte("{cron: '@daily', retry: "+text+"}"), new(List)); err == nil {
			t.Errorf("retry: %s is taken", text)
		}
	}
}
