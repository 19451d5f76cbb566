package observation

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"rouse/internal/disk"
)

// begun is how many goroutines there ever were.
func begun() uint64 {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func TestSmallContentsStartNoGoroutine(t *testing.T) {
	turn := begin(t, openStore(t, "", Options{}), "turn")
	for _, n := range []int{0, 1, chunkSize} {
		w := turn.Create(Origin{})
		before := begun()
		w.Write(bytes.Repeat([]byte{'x'}, n))
		w.finish()
		if after := begun(); after != before || !w.small {
			t.Errorf("%d bytes: %d goroutines", n, after-before)
		}
		w.Abort()
	}
	before := begun()
	put(t, turn, bytes.Repeat([]byte{'x'}, chunkSize+1))
	if begun() == before {
		t.Error("goroutines are not counted")
	}
}

// noFile is a disk on which no file takes more than so many bytes.
type noFile struct {
	disk.FS
	room int
}

type shortFile struct {
	disk.File
	room int
}

func (f noFile) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	file, err := f.FS.OpenFile(name, flag, mode)
	return &shortFile{file, f.room}, err
}

func (f *shortFile) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, os.ErrPermission
	}
	return f.File.Write(p)
}

// TestNoGoroutineStays ends writers in all ways, one of them by letting it lie.
func TestNoGoroutineStays(t *testing.T) {
	data := numbered(300_000)
	for _, codec := range []Codec{Zstd, Raw} {
		turn := begin(t, openStore(t, "", Options{Codec: codec}), "turn")
		ends := map[string]func(*Writer){
			"commit": func(w *Writer) {
				e, err := w.Commit(nil)
				if err != nil {
					t.Fatal(err)
				}
				checkEntry(t, turn.s, e)
			},
			"abort":      (*Writer).Abort,
			"left lying": func(*Writer) {},
		}
		for name, end := range ends {
			w := turn.Create(Origin{})
			w.Write(data)
			end(w)
			wantNoStage(t, fmt.Sprint(codec, ", ", name))
		}
		broken := begin(t, openStore(t, "", Options{Codec: codec, FS: noFile{disk.OS{}, 100_000}}), "broken")
		w := broken.Create(Origin{})
		w.Write(data)
		e, err := w.Commit(nil)
		if err == nil || e.Bytes != int64(len(data)) {
			t.Errorf("%s: a file that cannot be written gives %v, and %d bytes", codec, err, e.Bytes)
		}
		wantNoStage(t, string(codec)+", a broken file")
	}
}

// wantNoStage wants all stages to have ended, soon.
func wantNoStage(t *testing.T, name string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		all := make([]byte, 1<<20)
		all = all[:runtime.Stack(all, true)]
		if !strings.Contains(string(all), "(*stage).run") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: a stage still runs\n%s", name, all)
		}
	}
}

// TestChunksTakeNoRoom writes many chunks once all room is there. How often
// goroutines are started is the scheduler's affair; what they cost is small.
func TestChunksTakeNoRoom(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	data := numbered(500_000)
	for _, codec := range []Codec{Zstd, Raw} {
		w := begin(t, openStore(t, "", Options{Codec: codec}), "turn").Create(Origin{})
		w.Write(data)
		before := allocated()
		w.Write(data)
		if n := allocated() - before; n > uint64(len(data)/4) {
			t.Errorf("%s: %d bytes allocated for a content of %d", codec, n, len(data))
		} else {
			t.Logf("%s: %d bytes allocated for a content of %d", codec, n, len(data))
		}
		w.Abort()
	}
}

// allocated is how many bytes there ever were on the heap.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestMeasureInPieces counts as package utf8 does, whatever is where.
func TestMeasureInPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	pieces := []string{"a", "é", "一", "😀", "\xff", "\xe4\xb8", "\xf0\x9f", "\x80", "\n", strings.Repeat("x", 500)}
	for range 2000 {
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		s := b.String()
		want := size{bytes: len(s), runes: len([]rune(s)), lines: strings.Count(s, "\n"), text: strings.ToValidUTF8(s, "") == s}
		if got := measure([]byte(s)); got != want {
			t.Fatalf("%q: %+v, want %+v", s, got, want)
		}
	}
}
