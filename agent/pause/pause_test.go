package pause

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

func TestPause(t *testing.T) {
	stop := filepath.Join(t.TempDir(), "STOP")
	if _, ok := Paused(stop); ok {
		t.Error("paused from the start")
	}
	if made, err := Pause(disk.OS{}, stop, "on holiday\nuntil May"); !made || err != nil {
		t.Error(made, err)
	}
	if made, err := Pause(disk.OS{}, stop, "another"); made || err != nil {
		t.Error(made, err)
	}
	if reason, ok := Paused(stop); !ok || reason != "on holiday" {
		t.Errorf("%q %v", reason, ok)
	}
	if was, err := Resume(disk.OS{}, stop); !was || err != nil {
		t.Error(was, err)
	}
	if was, err := Resume(disk.OS{}, stop); was || err != nil {
		t.Error(was, err)
	}
}

// Whatever is called STOP stops the home.
func TestStopFiles(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"empty":   func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"folder":  func(p string) error { return os.Mkdir(p, 0o700) },
		"link":    func(p string) error { return os.Symlink("nowhere", p) },
		"large":   func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", 1<<20)), 0o600) },
		"invalid": func(p string) error { return os.WriteFile(p, []byte("\xff\n"), 0o600) },
	} {
		stop := filepath.Join(t.TempDir(), "STOP")
		if err := make(stop); err != nil {
			t.Fatal(err)
		}
		if reason, ok := Paused(stop); !ok || reason == "" || len(reason) > maxReason {
			t.Errorf("%s: %.40q %v", name, reason, ok)
		}
	}
}

func TestPauseFaults(t *testing.T) {
	points := disktest.Sweep(t, disktest.Faults(), func(f *disktest.Faulty) {
		stop := filepath.Join(t.TempDir(), "STOP")
		_, err := Pause(f, stop, "why")
		if reason, ok := Paused(stop); ok && reason != "why" || err == nil && !ok {
			t.Errorf("%v: %q %v, %v", f.Fault, reason, ok, err)
		}
	})
	t.Logf("wrong 0 / %d faults", points)
}

func TestBackoff(t *testing.T) {
	began := time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)
	failed := func(n int, text string) (list []Cycle) {
		for range n {
			list = append(list, Cycle{Began: began, Took: time.Minute, Failed: true, Error: text})
		}
		return list
	}
	well := Cycle{Began: began}
	tests := []struct {
		name   string
		cycles []Cycle
		after  int
		want   time.Duration // from the end of the newest, 0 for none
	}{
		{"none yet", nil, 5, 0},
		{"four of five", failed(4, "x"), 5, 0},
		{"five", failed(5, "x"), 5, 30 * time.Minute},
		{"six", failed(6, "x"), 5, time.Hour},
		{"nine", failed(9, "x"), 5, 8 * time.Hour},
		{"many", failed(Look(5), "x"), 5, 24 * time.Hour},
		{"very many", failed(500, "x"), 5, 24 * time.Hour},
		{"numbers differ", append(failed(2, "port 80 after 1.2s"), failed(3, "port 81 after 900ms")...), 5, 30 * time.Minute},
		{"the cause changed", append(failed(4, "503 Service"), failed(9, "401 Unauthorized")...), 5, 0},
		{"status changed", append(failed(4, "got 503"), failed(9, "got 500")...), 5, 0},
		{"one went well", append(failed(4, "x"), append([]Cycle{well}, failed(9, "x")...)...), 5, 0},
		{"recovered", append([]Cycle{well}, failed(9, "x")...), 5, 0},
		{"never", failed(99, "x"), 0, 0},
		{"at once", failed(1, "x"), 1, 30 * time.Minute},
	}
	for _, tt := range tests {
		until, ok := Failures(tt.cycles).Until(tt.after)
		if ok != (tt.want > 0) || ok && until != began.Add(time.Minute+tt.want) {
			t.Errorf("%s: %v %v, want %v", tt.name, until, ok, tt.want)
		}
	}
}

func TestCause(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"model: 503 Service Unavailable", "model: 401 Unauthorized", false},
		{"model: 503: busy", "model: 500: busy", false},
		{"got 503", "got 401", false},
		{"server error in the reply: busy (529)", "server error in the reply: busy (429)", false},
		{"model: 503 Service Unavailable (2 attempts)", "model: 503 Service Unavailable (3 attempts)", true},
		{"wrote 412 bytes", "wrote 9 bytes", true},
		{"wrote 412 of 1000", "wrote 590 of 1000", true},
		{"a reply of 450 MiB.", "a reply of 500 MiB.", true},
		{"no answer on port 443", "no answer on port 480", true},
		{"no answer from 127.0.0.1:443", "no answer from 127.0.0.1:80", true},
		{"rouse.yaml: line 412: bad key", "rouse.yaml: line 9: bad key", true},
		{"after 1.2s", "after 900ms", true},
		{"request req_a1", "request req_b22", true},
		{"disk full", "no such file", false},
	} {
		if same := Cause(tt.a) == Cause(tt.b); same != tt.same {
			t.Errorf("%q and %q: the same %v, want %v", tt.a, tt.b, same, tt.same)
		}
	}
}

func TestRests(t *testing.T) {
	last := time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)
	s := Streak{Count: 5, Last: last}
	for now, want := range map[time.Time]bool{
		last: true, last.Add(29 * time.Minute): true, last.Add(30 * time.Minute): false,
		last.Add(-time.Second): true, last.AddDate(-1, 0, 0): false, // the clock was set back
	} {
		if until, ok := s.Rests(now, 5); ok != want {
			t.Errorf("at %s: %v until %s, want %v", now, ok, until, want)
		}
	}
}
