package agent

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rouse/agent/model/modeltest"
	"rouse/internal/disk"
	"rouse/journal"
)

// A signal ends a cycle in time, wherever it is: the memory is saved and says
// so, and nothing is left running.
func TestSignals(t *testing.T) {
	stubborn := "trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' & touch up; while :; do sleep 300; done"
	tests := []struct {
		at    string
		reply modeltest.Reply
		ready func(*site, *modeltest.Server) bool
	}{
		{"waiting for the model", modeltest.Reply{Stall: true}, asked},
		{"waiting to ask again", modeltest.Reply{Status: 503, Headers: map[string]string{"Retry-After": "60"}}, asked},
		{"in a call that does not want to end", modeltest.Reply{Action: json.RawMessage(shellReply(stubborn))}, func(s *site, _ *modeltest.Server) bool {
			return disk.Exists(filepath.Join(s.home.Dir, "workspace", "up"))
		}},
	}
	slowest := time.Duration(0)
	for _, tt := range tests {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			s := newSite(t, filepath.Join(t.TempDir(), "home"))
			server := modeltest.New(tt.reply)
			defer server.Close()
			cmd := s.command(server, "run")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			s.must(cmd.Start())
			waitUntil(t, tt.at, func() bool { return tt.ready(s, server) })
			began := time.Now()
			s.must(cmd.Process.Signal(sig))
			cmd.Wait() // how it ended is in its state
			took := time.Since(began)
			slowest = max(slowest, took)
			if code := cmd.ProcessState.ExitCode(); code != 128+int(sig) || took > 5*time.Second {
				t.Errorf("%s, %v: exit %d after %v: %s", tt.at, sig, code, took, &stderr)
			}
			s.checkSignal(t, tt.at, sig)
		}
	}
	t.Logf("the slowest of %d ended after %v; orphans 0", 2*len(tests), slowest.Round(time.Millisecond))
}

func asked(_ *site, m *modeltest.Server) bool { return len(m.Requests()) > 0 }

func (s *site) checkSignal(t *testing.T, at string, sig syscall.Signal) {
	t.Helper()
	notes := s.checkSettled(at).Notes()
	last := notes[strings.LastIndexByte(notes, '\n')+1:]
	if want := "failed: ended by " + signalName(sig); !strings.HasSuffix(last, want) {
		t.Errorf("%s, %v: the notes end with %q", at, sig, last)
	}
	events := s.events(s.cycles()[0])
	if d := events[len(events)-1].Data.(*journal.Sleep); d.Outcome != journal.Signal {
		t.Errorf("%s, %v: outcome %s", at, sig, d.Outcome)
	}
}

// A child that the kernel kills, as it does when memory is short, is told as
// that, and the cycle goes on.
func TestKilledChildIsTold(t *testing.T) {
	s := newSite(t, filepath.Join(t.TempDir(), "home"))
	server := replying(shellReply("kill -9 $$"), act("done", `{"summary":"seen"}`))
	defer server.Close()
	if code, text := s.run(server, "run"); code != 0 {
		t.Fatalf("exit %d: %s", code, text)
	}
	notes := s.checkSettled("killed child").Notes()
	for _, want := range []string{"SIGKILL", "out-of-memory"} {
		if !strings.Contains(notes, want) || !strings.Contains(string(server.Requests()[1].Body), want) {
			t.Errorf("the notes or the request do not tell of %s: %s", want, notes)
		}
	}
}
