package schedule

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A ledger that somebody has spoilt is gone on with, and the summary says so.
func TestDamaged(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC")}
	d.due("", l, nil)
	a, _ := d.due("2026-01-01T10:00:01Z", l, nil)
	d.settle(a)
	data, err := os.ReadFile(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data[:300] {
		data[i] = 0
	}
	if err := os.WriteFile(d.Path, append(data, "not from us\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := d.Summary(l)
	if text := strings.Join(sum.Problems, "; "); err != nil || !strings.Contains(text, "2 lines of ledger.jsonl cannot be read") {
		t.Errorf("%s, %v", text, err)
	}
	a, got := d.due("2026-01-01T11:00:01Z", l, nil)
	d.want(got, "11:00 ran")
	d.settle(a)
	if _, got := d.due("2026-01-01T11:00:30Z", l, nil); got != "nothing" {
		t.Errorf("again: %s", got)
	}
}

// Nobody waits for what stands in the ledger's place.
func TestNoLedger(t *testing.T) {
	d := newDesk(t, "2026-01-01T09:30:00Z")
	l := List{mustNew(t, "0 * * * *", "UTC")}
	d.due("", l, nil)
	if err := errors.Join(os.Remove(d.Path), syscall.Mkfifo(d.Path, 0o600)); err != nil {
		t.Fatal(err)
	}
	const want = "ledger.jsonl is not a regular file; move it away"
	if _, err := d.Due(l, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("due: %v", err)
	}
	if _, err := d.Slots(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("slots: %v", err)
	}
}
