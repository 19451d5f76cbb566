package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

func mustNew(t testing.TB, cron, zone string, change ...func(*Entry)) Entry {
	t.Helper()
	e := defaults()
	e.Cron, e.Timezone = cron, zone
	for _, c := range change {
		c(&e)
	}
	if err := e.check(); err != nil {
		t.Fatal(err)
	}
	return e
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBadSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		"":                             "cron is empty",
		"* * * *":                      "4 fields; 5 are wanted",
		"* * * * * * *":                "7 fields",
		"60 * * * *":                   "above maximum",
		"0 0 30 2 *":                   "no such date ever comes",
		"0 0 31 4,6 *":                 "no such date ever comes",
		"TZ=":                          "timezone: beside cron",
		"TZ=Europe/Berlin":             "timezone: beside cron",
		"CRON_TZ=UTC 0 0 * * *":        "timezone: beside cron",
		"@reboot":                      "@reboot is no time",
		"@every 0s":                    "at least one",
		"@every -5m":                   "at least one",
		"@every 1500ms":                "whole seconds",
		"@every":                       "wants a duration",
		"@every 9999h":                 "at most a year",
		"@fortnightly":                 "unrecognized descriptor",
		"*/90 * * * *":                 "longer than the field",
		", * * * *":                    "a value is missing",
		"1,,2 * * * *":                 "a value is missing",
		"x * * * *":                    "not a number: x",
		"0 25 * * *":                   "above maximum",
		"*/0 * * * *":                  "positive",
		"5-1 * * * *":                  "beyond end",
		"0 0 * * fri-mon":              "beyond end",
		"99999999999999999999 * * * *": "not a number",
	} {
		_, err := New(spec)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

func TestSlots(t *testing.T) {
	for _, tt := range []struct{ cron, zone, after, want string }{
		{"*/15 * * * *", "UTC", "2026-01-01T00:01:00Z", "00:15 00:30 00:45"},
		{"@daily", "Asia/Tokyo", "2026-01-01T00:00:00Z", "15:00 15:00 15:00"},
		{"@DAILY", "UTC", "2026-01-01T00:00:01Z", "00:00 00:00 00:00"},
		{"0 0 * * 7", "UTC", "2026-01-01T00:00:00Z", "00:00 00:00 00:00"},
		{"0 9 * * mon-fri", "UTC", "2026-01-02T10:00:00Z", "09:00 09:00 09:00"},
		{"@every 7m", "UTC", "2026-01-01T00:00:00Z", "00:07 00:14 00:21"},
		// The hour from 02:00 to 03:00 never comes: 03:00 is 01:00 UTC.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "01:00 00:30 00:30"},
		{"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:20:00Z", "00:30 01:00 01:30"},
		{"*/20 * 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "01:00 00:00 00:00"},
		// The hour from 02:00 to 03:00 comes twice: at 00:00 and at 01:00 UTC.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "00:30 01:30 01:30"},
		{"*/30 * * * *", "Europe/Berlin", "2026-10-25T00:10:00Z", "00:30 02:00 02:30"},
		{"0 30 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "00:30 01:30 01:30"},
		{"@every 30m", "Europe/Berlin", "2026-10-25T00:10:00Z", "00:30 01:00 01:30"},
		// Half an hour, and a whole day that never comes.
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "15:30 15:15 15:15"},
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "10:00 22:00 22:00"},
		// Midnight never comes.
		{"0 0 * * *", "America/Santiago", "2025-09-06T05:00:00Z", "04:00 03:00 03:00"},
	} {
		e := mustNew(t, tt.cron, tt.zone)
		var got []string
		for s, i := at(t, tt.after), 0; i < 3; i++ {
			s = e.Next(s)
			got = append(got, s.UTC().Format("15:04"))
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.cron, tt.zone, g, tt.want)
		}
	}
}

func TestLeapDay(t *testing.T) {
	e := mustNew(t, "0 0 29 2 *", "UTC")
	if got := e.Next(at(t, "2097-01-01T00:00:00Z")); got.Year() != 2104 {
		t.Error(got)
	}
}

func TestBounds(t *testing.T) {
	e := mustNew(t, "0 * * * *", "UTC", func(e *Entry) { e.NotBefore.text, e.NotAfter.text = "2026-02-01", "2026-02-02" })
	all := slices.Collect(e.Between(at(t, "2026-01-01T00:00:00Z"), at(t, "2026-03-01T00:00:00Z")))
	if len(all) != 48 {
		t.Errorf("%d slots in two days", len(all))
	}
	night := mustNew(t, "0 * * * *", "UTC", func(e *Entry) { e.NotBefore.text, e.NotAfter.text = "22:00", "06:00" })
	open := 0
	for s := range night.Between(at(t, "2026-01-01T00:30:00Z"), at(t, "2026-01-02T00:30:00Z")) {
		if night.Open(s) {
			open++
		}
	}
	if open != 9 {
		t.Errorf("open at %d hours", open)
	}
}

// TestLast compares the search backwards with the one forwards.
func TestLast(t *testing.T) {
	for _, cron := range []string{"* * * * *", "0 9 * * 1", "0 0 29 2 *", "@every 7s", "17 3 1 * *"} {
		e := mustNew(t, cron, "Europe/Berlin")
		from := at(t, "2019-01-01T00:00:00Z")
		slot := e.Next(at(t, "2026-10-25T00:29:00Z"))
		for _, to := range []time.Time{slot, slot.Add(time.Second / 2), e.Next(slot).Add(-1)} {
			if got := e.last(from, to); !got.Equal(slot) {
				t.Errorf("%s: last before %s is %s, want %s", cron, to, got, slot)
			}
		}
		if got := e.last(slot, e.Next(slot).Add(-1)); !got.IsZero() {
			t.Errorf("%s: %s is not after %s", cron, got, slot)
		}
	}
}

func TestJitter(t *testing.T) {
	e := mustNew(t, "*/5 * * * *", "UTC", func(e *Entry) { e.Jitter = time.Hour })
	seen := map[time.Duration]bool{}
	var before time.Time
	for s := range e.Between(at(t, "2026-01-01T00:00:00Z"), at(t, "2026-01-02T00:00:00Z")) {
		d := e.due(s, "home")
		if d != e.due(s, "home") || d.Before(s) || !d.Before(s.Add(5*time.Minute)) || d.Before(before) {
			t.Fatalf("%s is due at %s, after %s", s, d, before)
		}
		before = d
		seen[d.Sub(s)] = true
	}
	if len(seen) < 50 {
		t.Errorf("only %d different delays", len(seen))
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"schedule: '*/5 * * * *'":                             "",
		"schedule: ['@daily', {cron: '@hourly', task: look}]": "",
		"schedule: {cron: '@daily', jitter: 5m, idle: skip}":  "",
		"schedule: []": "",
		"a: 1\nschedule:\n  - '@daily'\n  - cron: 0 0 30 2 *\n":    `line 4: schedule: "0 0 30 2 *": no such date ever comes`,
		"schedule:\n  - {cron: '@daily', timezone: Europe/Belrin}": `line 2: schedule: timezone "Europe/Belrin" is not known; use a name such as Europe/Berlin or UTC`,
		"schedule:\n  - {cron: '@daily', overlap: both}":           `line 2: schedule: overlap "both": use skip, queue or replace`,
		"schedule:\n  - {cron: '@daily', jiter: 5m}":               `line 2: schedule: unknown key "jiter"; did you mean jitter?`,
		"schedule:\n  - {task: x}":                                 "line 2: schedule: the key cron is missing",
		"schedule:\n  - '@daily'\n  - '@daily'":                    "line 3: schedule: the same entry stands in line 2",
		"schedule:\n  - {cron: '@daily', not_after: tomorrow}":     `line 2: schedule: not_after "tomorrow" is neither a time of day (08:30) nor a date (2026-01-31, 2026-01-31T08:30)`,
		"schedule:\n  - {cron: '@daily', missed_window: long}":     `line 2: schedule: missed_window "long": not a length of time; write 90s, 2m or 1h30m`,
		"schedule:\n  - task: x\n    cron: 0 0 30 2 *":             `line 3: schedule: "0 0 30 2 *": no such date ever comes`,
		"schedule:\n  - cron: '@daily'\n    jitter: -5s":           "line 3: schedule: jitter must not be below 0",
		"schedule:\n  - cron: '@daily'\n    idle: maybe":           `line 3: schedule: idle "maybe": use skip or run`,
		"schedule:\n  - cron: '@daily'\n    cron: '@hourly'":       "line 3: schedule: the key cron stands in line 2 too",
		"schedule:\n  - [a]":                                       "line 2: schedule: an entry is a cron specification, or a mapping with the key cron",
	} {
		var c struct{ Schedule List }
		err := yaml.Unmarshal([]byte(text), &c)
		if got := errText(err); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzSpec(f *testing.F) {
	for _, s := range []string{"*/15 * * * *", "@every 5m", "TZ=", "TZ=UTC * * * * *", "0 0 29 2 *", "0 0 1-7/2 * 1-7", "* * * * * *"} {
		f.Add(s, int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, sec int64) {
		e, err := New(text)
		if err != nil || sec < 0 || sec > 4_000_000_000 {
			return
		}
		now := time.Unix(sec, 0)
		a := e.Next(now)
		b := e.Next(a)
		if !a.After(now) || !b.After(a) {
			t.Errorf("%q after %s: %s, %s", text, now, a, b)
		}
	})
}
