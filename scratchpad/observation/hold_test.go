package observation

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"rouse/internal/proc"
)

// holdTurn stores entries, prints their ids, and keeps its turn until its input
// ends.
func holdTurn(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	turn, err := s.Begin("held", proc.Self())
	if err != nil {
		return err
	}
	for i := range 10 {
		e, err := tryPut(turn, numbered(10+i*9000))
		if err != nil {
			return err
		}
		fmt.Println(e.ID)
	}
	w := turn.Create(Origin{}) // half written when the other process collects
	w.Write(numbered(300_000))
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	e, err := w.Commit(nil)
	fmt.Println(e.ID)
	return err
}

// TestOthersTurnsAreNotCollected collects for thirty hours while another process
// holds its turn, and again when that process is gone.
func TestOthersTurnsAreNotCollected(t *testing.T) {
	dir := t.TempDir()
	clock := newClock()
	s := openStore(t, dir, Options{Now: clock.now})
	cmd := program(t, "hold", dir)
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var ids []string
	for lines.Scan() && lines.Text() != "held" {
		ids = append(ids, lines.Text())
	}
	lost := 0
	for range 30 {
		clock.pass(time.Hour)
		st := collect(t, s)
		lost += st.Entries + st.Orphans
	}
	in.Close()
	for lines.Scan() {
		ids = append(ids, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		c, err := s.Get(id)
		if err != nil {
			lost++
			t.Error(err)
			continue
		}
		checkEntry(t, s, c.Entry)
		c.Close()
	}
	if lost > 0 || len(ids) != 11 {
		t.Errorf("lost %d of %d entries", lost, len(ids))
	}
	collect(t, s) // its process is gone: now its time runs
	clock.pass(time.Hour)
	if st := collect(t, s); st.Entries != 11 {
		t.Errorf("%d entries went an hour after its end, want 11", st.Entries)
	}
	t.Logf("lost %d / %d entries of a process that lived through 30 collections, an hour apart with a ttl of one", lost, len(ids))
}
