package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rouse/internal/disk"
	"rouse/internal/disk/disktest"
)

const chainCycle = "20260401_150154"

var chainKey = bytes.Repeat([]byte{7}, 32)

// sealed is a journal of four lines.
func sealed(t *testing.T, key []byte, cycle string) (path string, lines [][]byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "j")
	w, err := Create(disk.OS{}, path, NewChain(key, cycle), clock)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	appendAll(t, w, &Wake{}, &Request{Iteration: 1}, &Warning{Text: `,"mac":"x"}`}, &Sleep{Outcome: Done})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, bytes.SplitAfter(data, []byte("\n"))[:4]
}

// doubts are the numbers of the lines that are not proven.
func doubts(t *testing.T, path string, c *Chain) (list []int) {
	t.Helper()
	for l, err := range Check(path, c) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Doubt != "" {
			list = append(list, l.Number)
		}
	}
	return list
}

// What was done to a journal is seen, and in which line; what a crash leaves is
// no damage.
func TestCheck(t *testing.T) {
	_, l := sealed(t, chainKey, chainCycle)
	_, other := sealed(t, chainKey, "20260401_150155")
	_, foreign := sealed(t, bytes.Repeat([]byte{8}, 32), chainCycle)
	_, bare := sealed(t, nil, chainCycle)
	edited := bytes.Replace(l[1], []byte(`"iteration":1`), []byte(`"iteration":2`), 1)
	spaced := bytes.Replace(l[1], []byte(`"iteration":1`), []byte(`"iteration": 1`), 1)
	half, zeroes := []byte(`{"v":1,"se`), make([]byte, 4096)
	nl := []byte("\n")
	tests := []struct {
		name string
		text [][]byte
		want []int
	}{
		{"whole", l, nil},
		{"nothing", nil, nil},
		{"edited", [][]byte{l[0], edited, l[2], l[3]}, []int{2, 3, 4}},
		{"spaced", [][]byte{l[0], spaced, l[2], l[3]}, []int{2, 3, 4}},
		{"cut in the middle", [][]byte{l[0], l[2], l[3]}, []int{2, 3}},
		{"cut at the beginning", l[1:], []int{1, 2, 3}},
		{"reordered", [][]byte{l[0], l[2], l[1], l[3]}, []int{2, 4}},
		{"duplicated", [][]byte{l[0], l[1], l[1], l[2], l[3]}, []int{3}},
		{"replayed", [][]byte{l[0], l[1], l[2], l[3], l[1]}, []int{5}},
		{"forged without a mac", [][]byte{l[0], l[1], bare[2], l[2], l[3]}, []int{3}},
		{"forged with another key", [][]byte{l[0], l[1], foreign[2]}, []int{3}},
		{"of another cycle", other, []int{1, 2, 3, 4}},
		{"a line of another cycle", [][]byte{l[0], l[1], other[2]}, []int{3}},
		{"without macs", bare, []int{1, 2, 3, 4}},
		{"truncated, which a crash does too", l[:2], nil},
		{"torn end", [][]byte{l[0], l[1], half}, nil},
		{"line feed lost", [][]byte{l[0], bytes.TrimSuffix(l[1], nl)}, nil},
		{"zeroes at the end", [][]byte{l[0], l[1], zeroes}, nil},
		{"torn, then gone on", [][]byte{l[0], l[1], half, nl, l[2], l[3]}, nil},
		{"torn and something lost", [][]byte{l[0], half, nl, l[2], l[3]}, []int{3, 4}},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, bytes.Join(tt.text, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := doubts(t, path, NewChain(chainKey, chainCycle)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: in doubt are %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A journal ends in sleep if its writer says so, not if its last line does.
func TestSlept(t *testing.T) {
	_, l := sealed(t, chainKey, chainCycle)
	_, other := sealed(t, chainKey, "20260401_150155")
	_, bare := sealed(t, nil, chainCycle)
	tests := []struct {
		name string
		text [][]byte
		want bool
	}{
		{"slept", l, true},
		{"torn after it", [][]byte{l[0], l[1], l[2], l[3], []byte(`{"v"`)}, true},
		{"no sleep", l[:3], false},
		{"nothing", nil, false},
		{"forged without a mac", [][]byte{l[0], l[1], bare[3]}, false},
		{"end of another journal", [][]byte{l[0], l[1], other[2], other[3]}, false},
		{"too early", [][]byte{l[0], l[1], l[3]}, false},
		{"of a rouse without a key", bare, true},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, bytes.Join(tt.text, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Slept(path, NewChain(chainKey, chainCycle)); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}

// A write that failed leaves nothing, half a line or all of it: the chain goes on
// in each case, and nothing of it looks like damage.
func TestChainAfterAFailedWrite(t *testing.T) {
	disktest.Sweep(t, disktest.Faults(), func(f *disktest.Faulty) {
		path := filepath.Join(t.TempDir(), "j")
		f.FS = disk.OS{}
		w, err := Create(f, path, NewChain(chainKey, chainCycle), clock)
		if err != nil {
			return
		}
		for i := range 4 {
			_ = w.Append(&Request{Iteration: i})
		}
		_ = w.Close()
		if got := doubts(t, path, NewChain(chainKey, chainCycle)); got != nil {
			t.Errorf("%v: lines in doubt: %v", f.Fault, got)
		}
	})
}

// A journal that is gone on with is one chain.
func TestResumeGoesOnWithTheChain(t *testing.T) {
	path, l := sealed(t, chainKey, chainCycle)
	for n := range len(l) {
		if err := os.WriteFile(path, append(bytes.Join(l[:n], nil), `{"v":1,"`...), 0o600); err != nil {
			t.Fatal(err)
		}
		c := NewChain(chainKey, chainCycle)
		doubts(t, path, c)
		w, err := Resume(disk.OS{}, path, c, clock)
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, w, &End{}, &Sleep{})
		w.Close()
		if got := doubts(t, path, NewChain(chainKey, chainCycle)); got != nil {
			t.Errorf("after %d lines: in doubt are %v", n, got)
		}
		if e, err := Last(path); err != nil || e.Seq != n+2 {
			t.Errorf("after %d lines: seq %d, %v", n, e.Seq, err)
		}
	}
}
