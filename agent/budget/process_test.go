package budget

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/agent/model"
	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

const (
	racers  = 20
	request = 1000 // tokens reserved
	limit   = 60_500
	above   = 30 // tokens by which some replies exceed their reservation
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("BUDGET_RACE"); dir != "" {
		race(dir)
		return
	}
	disktest.Main(m)
}

// race spends until nothing is left. Each request is told before it is sent, and
// what it used after; a process may be killed anywhere.
func race(dir string) {
	b := &Budget{Path: dir + "/spend.jsonl", Limits: Limits{Day: Amount{Tokens: limit}}, Disk: deadly{quick{disk.OS{}}}}
	for {
		h, err := b.Reserve(context.Background(), Amount{Tokens: request})
		if errors.As(err, new(*Exceeded)) {
			return
		}
		if err != nil {
			fmt.Println("error", err)
			return
		}
		used := Count(rand.IntN(request)) + 1
		if rand.IntN(10) == 0 {
			used = request + above
		}
		fmt.Println("sent", used)
		if rand.IntN(30) == 0 { // killed between the request and its settlement
			die()
		}
		if err := b.Settle(h, Amount{Tokens: used}); err != nil {
			fmt.Println("error", err)
		}
	}
}

func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	fmt.Println("error", err)
	select {}
}

// deadly is killed now and then in the middle of a line.
type deadly struct{ quick }

type deadlyFile struct{ disk.File }

func (d deadly) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	f, err := d.quick.OpenFile(name, flag, perm)
	return deadlyFile{f}, err
}

func (f deadlyFile) Write(p []byte) (int, error) {
	if rand.IntN(60) == 0 {
		_, _ = f.File.Write(p[:rand.IntN(len(p))])
		die()
	}
	return f.File.Write(p)
}

// quick does not sync: killing a process loses nothing of what it wrote.
type quick struct{ disk.FS }

type quickFile struct{ disk.File }

func (quickFile) Sync() error { return nil }

func (quick) SyncDir(string) error { return nil }

func (q quick) OpenFile(name string, flag int, perm os.FileMode) (disk.File, error) {
	f, err := q.FS.OpenFile(name, flag, perm)
	return quickFile{f}, err
}

// prefill makes a ledger so large, of last week, that it is summed up meanwhile.
func prefill(t *testing.T, dir string) {
	t.Helper()
	b := &Budget{Path: dir + "/spend.jsonl", Disk: quick{disk.OS{}}, Now: func() time.Time { return time.Now().AddDate(0, 0, -7) }}
	line, err := json.Marshal(b.record(sum, "", Amount{Tokens: 1}))
	if err == nil {
		err = os.WriteFile(b.Path, bytes.Repeat(append(line, '\n'), 3000), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Twenty processes race for one budget, and are killed in between. What they
// sent, which each says itself, exceeds the limit by no more than the replies in
// flight exceeded their reservations.
func TestRace(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 5
	worst, sum, allKills, requests := 0, 0, 0, 0
	for range rounds {
		dir := t.TempDir()
		prefill(t, dir)
		var running []*exec.Cmd
		var outputs []*strings.Builder
		for range racers {
			cmd, out := exec.Command(self), new(strings.Builder)
			cmd.Env, cmd.Stdout = append(os.Environ(), "BUDGET_RACE="+dir), out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running, outputs = append(running, cmd), append(outputs, out)
		}
		spent, kills := 0, 0
		for i, cmd := range running {
			if cmd.Wait() != nil {
				kills++
			}
			for lines := bufio.NewScanner(strings.NewReader(outputs[i].String())); lines.Scan(); {
				n := 0
				if _, err := fmt.Sscanf(lines.Text(), "sent %d", &n); err != nil {
					t.Fatalf("process %d: %s", i, lines.Text())
				}
				spent, requests = spent+n, requests+1
			}
		}
		worst, sum, allKills = max(worst, spent-limit), sum+spent, allKills+kills
		if spent > limit+racers*above {
			t.Errorf("%d tokens of %d were spent", spent, limit)
		}
		b := &Budget{Path: dir + "/spend.jsonl", Limits: Limits{Day: Amount{Tokens: limit}}}
		if day, _, err := b.Spent(t.Context()); err != nil || day.Tokens < Count(spent-kills*above) { // of who is killed the reservation stands
			t.Errorf("the ledger has %d tokens (%v), %d were spent", day.Tokens, err, spent)
		}
	}
	t.Logf("%d rounds of %d processes, %d killed: %d requests, %d%% of the limits used; over by at most %d tokens, %d allowed",
		rounds, racers, allKills, requests, sum*100/(rounds*limit), max(0, worst), racers*above)
}

// spend makes some requests as one process would, and gives what it sent and
// what of that was told to be durable. A request is sent only where its
// reservation succeeded.
func spend(f disk.FS, dir string, n int) (sent Count) {
	b := &Budget{Path: dir + "/spend.jsonl", Limits: Limits{Day: Amount{Tokens: 1000}}, Disk: f}
	for range n {
		h, err := b.Reserve(context.Background(), Amount{Tokens: 100})
		if err != nil {
			continue
		}
		sent += 60
		_ = b.Settle(h, Amount{Tokens: 60}) // a reservation that is not settled stands
	}
	return sent
}

// fewFaults are all ways to fail, each with one of the errors: which one makes no
// difference here.
func fewFaults() []disktest.Fault {
	return slices.DeleteFunc(disktest.Faults(), func(f disktest.Fault) bool { return f.Err != 0 && f.Err != syscall.EIO })
}

// Whatever fails, and whenever the power goes, the ledger has all that was sent.
func TestFaults(t *testing.T) {
	outcomes := 0
	points := disktest.Sweep(t, fewFaults(), func(f *disktest.Faulty) {
		dir := t.TempDir()
		power, err := disktest.NewPowerLoss(dir)
		if err != nil {
			t.Fatal(err)
		}
		f.FS = power
		sent := spend(f, dir, 3)
		if f.Fault.Stays || f.Fault.Mode.Crash() {
			sent += spend(power, dir, 2) // another process
		}
		seeds := uint64(disktest.Outcomes + 3)
		if fired := f.Fired(); len(fired) > 0 && strings.HasPrefix(fired[0], "sync ") {
			seeds = disktest.Outcomes // the others cut a file also before what was synced after a sync that failed
		}
		for seed := range seeds {
			after := t.TempDir()
			if err := power.Crash(after, seed); err != nil {
				t.Fatal(err)
			}
			day, _, err := (&Budget{Path: after + "/spend.jsonl"}).Spent(t.Context())
			if err != nil || day.Tokens < sent {
				t.Fatalf("%v, met %q, seed %d: the ledger has %d tokens (%v), %d were sent", f.Fault, f.Fired(), seed, day.Tokens, err, sent)
			}
			outcomes++
		}
	})
	t.Logf("forgotten 0 / %d outcomes of a loss of power at %d faults", outcomes, points)
}

// fsyncs are what a request with limits costs.
func TestSyncs(t *testing.T) {
	f := &disktest.Faulty{}
	spend(f, t.TempDir(), 5)
	n := 0
	for _, op := range f.Ops() {
		if strings.HasPrefix(op, "sync") {
			n++
		}
	}
	if n != 6 {
		t.Errorf("%d syncs for 5 requests of a process, want 6: %q", n, f.Ops())
	}
}

// scripted is a model that fails and answers as it is told.
type scripted struct {
	reply   model.Reply
	err     error
	retries []error // before that
	got     model.Request
}

func (s *scripted) Reply(ctx context.Context, req model.Request) (model.Reply, error) {
	s.got = req
	for i, err := range s.retries {
		req.OnRetry(i+1, 0, err)
		if ctx.Err() != nil {
			return model.Reply{}, context.Cause(ctx)
		}
	}
	return s.reply, s.err
}

// A request that says please is estimated at 10 tokens.
func TestModel(t *testing.T) {
	broke := errors.New("the stream broke off")
	used := model.Reply{Usage: model.Usage{Input: 8, Cached: 8, Output: 2}}
	tests := []struct {
		name  string
		next  scripted
		limit Count // tokens a day
		want  Count
		err   string
	}{
		{"settled", scripted{reply: used}, 1000, 10, ""},
		{"not counted by the server", scripted{}, 1000, 110, ""},
		{"broke off", scripted{err: broke}, 1000, 110, "broke off"},
		{"retried", scripted{reply: used, retries: []error{broke, broke}}, 1000, 230, ""},
		{"no room for a retry", scripted{reply: used, retries: []error{broke, broke}}, 250, 220, "day_tokens: 220 tokens of 250"},
		{"no room", scripted{}, 100, 0, "day_tokens: 0 tokens of 100 tokens used, and the next step may need 110"},
	}
	for _, tt := range tests {
		b := &Budget{Path: t.TempDir() + "/spend.jsonl", Limits: Limits{Day: Amount{Tokens: tt.limit}}}
		m := &Model{Next: tt.next.Reply, Budget: b, MaxOutput: 100}
		_, err := m.Reply(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Content: "please"}}})
		if (tt.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if day, _, err := b.Spent(t.Context()); err != nil || day.Tokens != tt.want {
			t.Errorf("%s: %d tokens spent, want %d (%v)", tt.name, day.Tokens, tt.want, err)
		}
	}
}

// An estimate that was too low raises the next ones, and the model reads that the
// limit is near.
func TestModelLearnsAndWarns(t *testing.T) {
	b := &Budget{Path: t.TempDir() + "/spend.jsonl", Limits: Limits{Day: Amount{Tokens: 200}}}
	next := &scripted{reply: model.Reply{Usage: model.Usage{Input: 50, Output: 10}}}
	m := &Model{Next: next.Reply, Budget: b, MaxOutput: 10}
	req := model.Request{Messages: []model.Message{{Role: model.User, Content: "please"}}}
	for i, want := range []string{"please", "please", "please\n\n[LIMIT] day_tokens: 120 tokens of 200 tokens used. Wind down"} {
		if _, err := m.Reply(t.Context(), req); err != nil || !strings.HasPrefix(next.got.Messages[0].Content, want) {
			t.Errorf("%d: %q, %v", i, next.got.Messages[0].Content, err)
		}
	}
	if req.Messages[0].Content != "please" {
		t.Error("the caller's messages were changed")
	}
	if _, err := m.Reply(t.Context(), req); err == nil || !strings.Contains(err.Error(), "may need 60") {
		t.Errorf("after an input of 50: %v", err)
	}
}

func TestTokens(t *testing.T) {
	text := strings.Repeat("x", 300)
	req := model.Request{
		Messages: []model.Message{
			{Role: model.System, Content: text},
			{Role: model.Assistant, Calls: []model.Call{{Name: "shell", Args: json.RawMessage(text)}}},
			{Role: model.User, Images: []model.Image{{Data: make([]byte, 1<<20)}}},
		},
		Tools: []model.Tool{{Name: "shell", Description: text, Parameters: json.RawMessage(text)}},
	}
	if n := Tokens(req); n < 4*100+3000 || n > 3600 {
		t.Errorf("%d tokens", n)
	}
}
