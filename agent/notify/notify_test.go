package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/disk/disktest"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/journal"
)

func TestMain(m *testing.M) {
	if home := os.Getenv("NOTIFY_HOME"); home != "" {
		n := &Notifier{Path: home + "/notify.json", Home: home, Sinks: []Sink{{Command: []string{"sleep", "300"}}}, Runner: &proc.Runner{}}
		fmt.Println(n.Deliver(context.Background()))
		return
	}
	disktest.Main(m)
}

// rig is a home with a file as its sink.
type rig struct {
	*Notifier
	t   *testing.T
	now time.Time
}

func newRig(t *testing.T, sinks ...Sink) *rig {
	r := &rig{t: t, now: time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)}
	dir := t.TempDir()
	if len(sinks) == 0 {
		sinks = []Sink{{File: "told.jsonl"}}
	}
	r.Notifier = &Notifier{Path: dir + "/notify.json", Home: dir, Sinks: sinks, Runner: &proc.Runner{}, Now: func() time.Time { return r.now }}
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// told lists what the file holds, as "kind: text".
func (r *rig) told() (list []string) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Home, "told.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e Event
		r.must(json.Unmarshal([]byte(line), &e))
		list = append(list, e.Kind+": "+e.Text)
	}
	return list
}

// An incident is told when it begins, when its cause changes and when it ends.
func TestIncidents(t *testing.T) {
	r := newRig(t)
	for i, o := range []Outcome{
		{"1", journal.Done, ""},
		{"2", journal.Failed, "model: 503 after 1.2s"},
		{"3", journal.Failed, "model: 503 after 900ms"},
		{"4", journal.Signal, "ended by SIGTERM"},
		{"5", journal.Idle, ""},
		{"6", journal.Failed, "model: 401\n(key)"},
		{"7", journal.Limited, "day_money: 1.9 of 2 USD used"},
		{"8", journal.Limited, "day_money: 2 of 2 USD used"},
		{"9", journal.Done, ""},
		{"10", journal.Done, ""},
		{"11", journal.Failed, "model: 401 (key)"},
		{"", journal.Failed, "scratchpad/active.yaml: line 3: not YAML"},
	} {
		r.now = r.now.Add(time.Hour)
		r.must(r.Cycle(t.Context(), o))
		if i%2 == 0 {
			r.must(r.Deliver(t.Context()))
		}
	}
	r.must(r.Deliver(t.Context()))
	want := []string{
		"failed: cycle 2 failed: model: 503 after 1.2s",
		"changed: cycle 6 failed: model: 401 (key)",
		"limit: cycle 7 stopped at a limit: day_money: 1.9 of 2 USD used",
		"recovered: cycle 9 is done; 5 before it were not, since 2026-04-30 14:00",
		"failed: cycle 11 failed: model: 401 (key)",
		"changed: no cycle can begin: scratchpad/active.yaml: line 3: not YAML",
	}
	if diff := cmp.Diff(want, r.told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTell(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.must(r.Tell(t.Context(), Missed, "missed 2026-04-30T03:00", "2 slots were missed"))
		r.must(r.Deliver(t.Context()))
	}
	r.must(r.Tell(t.Context(), Paused, "paused until 4", "5 cycles failed"))
	r.must(r.Deliver(t.Context()))
	if diff := cmp.Diff([]string{"missed: 2 slots were missed", "paused: 5 cycles failed"}, r.told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Without sinks nothing is opened, and all that is well leaves no file.
func TestNothingToTell(t *testing.T) {
	r := newRig(t)
	r.must(r.Cycle(t.Context(), Outcome{"1", journal.Done, ""}))
	r.must(r.Deliver(t.Context()))
	if _, err := os.Stat(r.Path); err == nil {
		t.Error("a state was written")
	}
	none := &Notifier{Path: "/nowhere/notify.json"}
	r.must(none.Cycle(t.Context(), Outcome{"1", journal.Failed, "x"}))
	r.must(none.Deliver(t.Context()))
}

// A command gets the event, fails, and is tried again at later wakes, each time
// after a longer wait, until it is given up. The other sink is told once.
func TestRetries(t *testing.T) {
	r := newRig(t, Sink{Command: []string{"sh", "-c", "cat >> got; echo no such host >&2; exit 7"}}, Sink{File: "told.jsonl"})
	r.must(r.Cycle(t.Context(), Outcome{"1", journal.Failed, "boom"}))
	var attempts []int
	for range 24 * 60 {
		r.must(r.Deliver(t.Context()))
		list, err := r.Recent()
		r.must(err)
		d := list[0].Deliveries[0]
		attempts = append(attempts, d.Attempts)
		if d.Status == GivenUp {
			break
		}
		if d.Status != ToSend || d.Error != "exit code 7: no such host" {
			t.Fatalf("%+v", d)
		}
		r.now = r.now.Add(time.Minute)
	}
	if last := attempts[len(attempts)-1]; last != maxAttempts || attempts[0] != 1 || attempts[1] != 2 || attempts[2] != 2 || attempts[3] != 3 {
		t.Errorf("attempts, minute by minute: %v", attempts)
	}
	got, err := os.ReadFile(filepath.Join(r.Home, "got"))
	r.must(err)
	if n := strings.Count(string(got), `"text":"cycle 1 failed: boom"`); n != maxAttempts {
		t.Errorf("the command got %d events", n)
	}
	if len(r.told()) != 1 {
		t.Errorf("the file got %q", r.told())
	}
}

func TestSinksThatAreNoSinks(t *testing.T) {
	r := newRig(t, Sink{Command: []string{"no-such-program"}}, Sink{File: "fifo"}, Sink{File: "no/folder"})
	r.must(syscall.Mkfifo(filepath.Join(r.Home, "fifo"), 0o600))
	r.must(r.Cycle(t.Context(), Outcome{"1", journal.Failed, "boom"}))
	r.must(r.Deliver(t.Context()))
	list, err := r.Recent()
	r.must(err)
	for i, want := range []string{"no such program", "not a regular file", "no such file or directory"} {
		if d := list[0].Deliveries[i]; d.Status != ToSend || !strings.Contains(d.Error, want) {
			t.Errorf("%+v, want %q", d, want)
		}
	}
	r.Sinks = []Sink{{File: "told.jsonl"}} // the operator changed rouse.yaml
	r.now = r.now.Add(time.Hour)
	r.must(r.Deliver(t.Context()))
	if list, err = r.Recent(); err != nil || list[0].Deliveries[0].Status != GivenUp {
		t.Errorf("%+v, %v", list, err)
	}
}

// An attempt that failed before the clock was set back is not waited for until
// the clock is there again.
func TestClockSetBack(t *testing.T) {
	r := newRig(t, Sink{Command: []string{"sh", "-c", "cat >> got; exit 7"}})
	r.must(r.Cycle(t.Context(), Outcome{"1", journal.Failed, "boom"}))
	r.must(r.Deliver(t.Context()))
	r.now = r.now.AddDate(-1, 0, 0)
	r.must(r.Deliver(t.Context()))
	r.must(r.Deliver(t.Context())) // which is too soon
	list, err := r.Recent()
	if r.must(err); list[0].Deliveries[0].Attempts != 2 {
		t.Errorf("%+v", list)
	}
}

// What somebody was killed while sending has an unknown outcome, and stays so.
func TestKilledWhileSending(t *testing.T) {
	r := newRig(t, Sink{Command: []string{"sleep", "300"}})
	r.now = time.Now()
	r.must(r.Cycle(t.Context(), Outcome{"1", journal.Failed, "boom"}))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NOTIFY_HOME="+r.Home)
	r.must(cmd.Start())
	status := func() string {
		list, err := r.Recent()
		r.must(err)
		return list[0].Deliveries[0].Status
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for status() != Sending {
		<-tick.C
	}
	r.must(r.Deliver(t.Context())) // another process leaves it alone
	if status() != Sending {
		t.Errorf("while it is sent: %s", status())
	}
	r.must(cmd.Process.Kill())
	cmd.Wait() // it was killed
	r.must(r.Deliver(t.Context()))
	if status() != Unknown {
		t.Errorf("after the sender died: %s", status())
	}
}

// Many processes deliver the same events once.
func TestOnce(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.must(r.Tell(t.Context(), Waiting, fmt.Sprint(i), "x"))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			n := *r.Notifier
			if err := n.Deliver(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(r.told()); n != 5 {
		t.Errorf("%d events were told, want 5", n)
	}
}

func TestSecrets(t *testing.T) {
	secret := "hunter2" + "hunter2"
	r := newRig(t, Sink{Command: []string{"sh", "-c", "echo " + secret + "; exit 1"}}, Sink{File: "told.jsonl"})
	r.Redact = redact.New(map[string]string{"PIN": secret})
	r.must(r.Cycle(t.Context(), Outcome{"1", journal.Failed, "no " + secret}))
	r.must(r.Tell(t.Context(), Waiting, "key", "is it "+secret+"?"))
	r.must(r.Deliver(t.Context()))
	for _, name := range []string{"told.jsonl", "notify.json"} {
		text, err := os.ReadFile(filepath.Join(r.Home, name))
		r.must(err)
		if strings.Contains(string(text), secret) || !strings.Contains(string(text), "[REDACTED:PIN]") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// What a failing command says is read up to a limit, where a secret may be cut.
func TestSecretAtTheLimit(t *testing.T) {
	secret := "canary-0123456789-abcdefgh"
	fill := fmt.Sprintf("printf 'no%%%ds%s'; exit 1", maxOutput-17, secret)
	r := newRig(t, Sink{Command: []string{"sh", "-c", fill}})
	r.Redact = redact.New(map[string]string{"PIN": secret})
	r.must(r.Tell(t.Context(), Waiting, "key", "is it?"))
	r.must(r.Deliver(t.Context()))
	text, err := os.ReadFile(r.Path)
	r.must(err)
	if strings.Contains(string(text), secret[:6]) {
		t.Errorf("%s", text)
	}
}

// What the state holds is bounded, and a spoilt state is begun anew.
func TestBounds(t *testing.T) {
	r := newRig(t)
	r.must(os.WriteFile(r.Path, []byte("{spoilt"), 0o600))
	s, err := r.load()
	r.must(err)
	for i := range 1000 {
		n := fmt.Sprint(i)
		s.Told = append(s.Told, n)
		r.tell(&s, Event{Kind: Missed, Text: n + strings.Repeat("x", 2000)})
	}
	r.must(r.save(s))
	r.must(r.Tell(t.Context(), Missed, "last", "last"))
	if s, err = r.load(); err != nil || len(s.Messages) != maxMessages || len(s.Told) != maxTold || utf8.RuneCountInString(s.Messages[0].Event.Text) != maxText {
		t.Errorf("%d messages, %d keys, %v", len(s.Messages), len(s.Told), err)
	}
}

// Whatever fails on the disk, an event is told once or its status says otherwise.
func TestFaults(t *testing.T) {
	told, not := 0, 0
	faults := slices.DeleteFunc(disktest.Faults(), func(f disktest.Fault) bool { return f.Err != 0 && f.Err != syscall.EIO })
	points := disktest.Sweep(t, faults, func(f *disktest.Faulty) {
		r := newRig(t)
		power, err := disktest.NewPowerLoss(r.Home)
		r.must(err)
		f.FS = power
		r.Disk = f
		put := r.Cycle(t.Context(), Outcome{"1", journal.Failed, "boom"})
		_ = r.Deliver(t.Context()) // what is left is delivered at a later wake
		r.Disk = power
		if put != nil { // the next cycle fails too
			r.must(r.Cycle(t.Context(), Outcome{"2", journal.Failed, "boom"}))
		}
		r.now = r.now.Add(time.Hour)
		r.must(r.Deliver(t.Context()))
		lines, err := os.ReadFile(filepath.Join(r.Home, "told.jsonl"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		whole := strings.Count(string(lines), "boom\"}\n")
		list, err := r.Recent()
		r.must(err)
		status := list[0].Deliveries[0].Status
		switch {
		case whole == 1 && status == Sent:
			told++
		case status == Sending: // by this process, which died for the disk only
			not++
		case whole == 2 && status == Sent && len(f.Fired()) > 0: // the sink failed after it had written
			told++
		default:
			t.Errorf("%v, met %q: %d lines, status %s", f.Fault, f.Fired(), whole, status)
		}
	})
	t.Logf("%d faults, %d runs: %d told, %d with an unknown outcome that is never repeated", points, told+not, told, not)
}
