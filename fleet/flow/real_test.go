package flow

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"rouse/fleet/dev"
)

// TestMain is also a worker that a test kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FLOW_TEST_WORKER"); dir != "" {
		t, err := Open(os.Getenv("FLOW_TEST_ADDRESS"), "", "f", func(s string) { fmt.Fprintln(os.Stderr, s) })
		if err == nil {
			err = t.Work(context.Background(), context.Background(), notes{dir, "killed", nil}.worker())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// notes is a Waker that notes each visit in a file. The home "soon" is due again in a second and
// gone after three, "long" is awake for as long as the worker lives that is killed; others are due in an hour.
type notes struct {
	dir, by string
	hold    chan struct{} // if any, "held" is awake until it is closed
}

func (n notes) worker() *Worker {
	return &Worker{Waker: n, Name: n.by, Homes: 2, Told: func(string, time.Duration, error) {}}
}

func (n notes) Wake(ctx context.Context, home string) (Next, error) {
	f, err := os.OpenFile(filepath.Join(n.dir, home), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, n.by)
		_ = f.Close()
	}
	switch {
	case home == "long" && n.by == "killed":
		select {}
	case home == "held":
		<-n.hold
	case home == "soon":
		data, err := os.ReadFile(f.Name())
		return Next{At: time.Now().Add(time.Second), Gone: len(strings.Fields(string(data))) == 3}, err
	}
	return Next{At: time.Now().Add(time.Hour)}, err
}

// visited waits until a home had so many visits, and gives the worker of the last one.
func (n notes) visited(t *testing.T, home string, times int) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(n.dir, home))
		if lines := strings.Fields(string(data)); len(lines) >= times {
			return lines[times-1]
		}
	}
	t.Fatalf("%s was not visited %d times within a minute", home, times)
	return ""
}

// TestTemporal has homes visited by a real Temporal: at their time and by signals, by a worker
// that is killed with all it does and by the one after it, through a crash of the server, where
// they were moved to, and to the end by a worker that is drained.
func TestTemporal(t *testing.T) {
	dir := t.TempDir()
	server, err := dev.StartTemporal(t.Context(), dir)
	if err == dev.ErrNoTemporal {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { server.Stop() }()
	c, err := Open(server.Address, "", "f", func(s string) { t.Error(s) })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	n := notes{dir, "second", make(chan struct{})}
	first := exec.Command(os.Args[0])
	first.Env = append(os.Environ(), "FLOW_TEST_WORKER="+dir, "FLOW_TEST_ADDRESS="+server.Address)
	first.Stderr = os.Stderr
	must(first.Start())
	defer first.Wait()
	defer first.Process.Kill()

	must(c.Start(t.Context(), 1, "soon", nil))
	must(c.Start(t.Context(), 1, "soon", nil)) // is the same
	n.visited(t, "soon", 3)
	must(c.Signal(t.Context(), 2, "far", nil))
	n.visited(t, "far", 1)
	must(c.Signal(t.Context(), 2, "far", nil))
	n.visited(t, "far", 2)

	server.Kill()
	server, err = dev.StartTemporal(t.Context(), dir)
	must(err)
	for c.Signal(t.Context(), 2, "far", nil) != nil { // until the connection is back
		time.Sleep(50 * time.Millisecond)
	}
	n.visited(t, "far", 3)

	must(c.Start(t.Context(), 3, "long", nil))
	n.visited(t, "long", 1)
	must(first.Process.Kill())
	began := time.Now()
	ctx, drain := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	second := n.worker()
	go func() { worked <- c.Work(ctx, context.WithoutCancel(ctx), second) }()
	must(c.Start(t.Context(), 4, "picky", []string{"gpu"}))
	must(c.Start(t.Context(), 5, "moved", []string{moved + "second"}))
	n.visited(t, "moved", 1)
	must(c.Signal(t.Context(), 4, "picky", nil))
	n.visited(t, "picky", 1)
	if by := n.visited(t, "long", 2); by != "second" {
		t.Error("taken over by", by)
	}
	t.Logf("taken over after %s", time.Since(began).Round(time.Second))

	running, err := c.Running(t.Context())
	if err != nil || len(running) != 4 || !running[4] || running[1] {
		t.Error(running, err)
	}
	must(c.Start(t.Context(), 6, "held", nil))
	n.visited(t, "held", 1)
	drain()
	select {
	case <-worked:
		t.Error("a worker ended while a home was awake")
	case <-time.After(time.Second):
	}
	close(n.hold)
	must(<-worked)
	if second.Awake() != 0 {
		t.Error("a worker ended with a home awake")
	}
	for id, name := range map[int64]string{1: "timer", 2: "signal", 4: "needs"} {
		record(t, c, id, name)
	}
}

// record keeps the history of a home's workflow for [TestReplay], if it is asked to by
// FLOW_RECORD=testdata/v2. What was recorded by a version that people ran stays.
func record(t *testing.T, c *Temporal, home int64, name string) {
	dir := os.Getenv("FLOW_RECORD")
	if dir == "" {
		return
	}
	var h history.History
	for events := c.client.GetWorkflowHistory(t.Context(), ID(c.fleet, home), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	data, err := protojson.Marshal(&h)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".json"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
