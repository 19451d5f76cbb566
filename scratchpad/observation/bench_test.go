package observation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rouse/internal/proc"
)

// mixed is n bytes of logs, JSON and Go's own source, in stretches of a few
// hundred lines.
func mixed(b testing.TB, n int) []byte {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	words := []string{"context", "deadline", "buffer", "return", "request", "index", "value", "stream", "closed", "error"}
	word := func() string { return words[r.IntN(len(words))] }
	out := make([]byte, 0, n+1<<20)
	source := source(b)
	for i := 0; len(out) < n; i++ {
		for range 300 {
			level := []string{"INFO", "INFO", "DEBUG", "WARN", "ERROR"}[r.IntN(5)]
			out = fmt.Appendf(out, "2026-11-21T04:%02d:%02d.%03dZ %s worker-%d: %s %s id=%08x took %dms\n",
				r.IntN(60), r.IntN(60), r.IntN(1000), level, r.IntN(16), word(), word(), r.Uint32(), r.IntN(5000))
		}
		for range 300 {
			out = fmt.Appendf(out, `{"id":%d,"name":"%s-%s","score":%.3f,"tags":["%s","%s"],"ok":%v}`+"\n",
				r.IntN(1e9), word(), word(), r.Float64(), word(), word(), r.IntN(2) == 0)
		}
		at := i * 30_000 % (len(source) - 30_000)
		out = append(out, source[at:at+30_000]...)
	}
	return out[:n]
}

// source is that of Go's net and runtime.
func source(b testing.TB) []byte {
	b.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("ask where Go's own source is: %v", err)
	}
	var all []byte
	for _, dir := range []string{"net/http", "runtime", "go/types", "crypto/tls"} {
		list, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", dir, "*.go"))
		for _, name := range list {
			data, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, data...)
		}
	}
	if len(all) < 1<<20 {
		b.Skip("Go's own source is not installed")
	}
	return all
}

// benchMB is how large the content is: $ROUSE_BENCH_MB, or 100.
func benchMB() int {
	if n, err := strconv.Atoi(os.Getenv("ROUSE_BENCH_MB")); err == nil {
		return n
	}
	return 100
}

// BenchmarkPut compares storing with a program that writes the file, hashes it
// and syncs it, turn by turn.
func BenchmarkPut(b *testing.B) {
	data := mixed(b, benchMB()<<20)
	for _, codec := range []Codec{Zstd, Raw} {
		b.Run(string(codec), func(b *testing.B) {
			s := openStore(b, "", Options{Codec: codec, MaxBytes: 1 << 40})
			turn := begin(b, s, "turn")
			b.SetBytes(int64(len(data)))
			var ref, own []time.Duration
			for b.Loop() {
				ref = append(ref, writeHashSync(b, data))
				start := time.Now()
				w := turn.Create(Origin{})
				for p := range slices.Chunk(data, 32<<10) {
					w.Write(p)
				}
				e, err := w.Commit(nil)
				own = append(own, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Remove(e.ID); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(e.Stored)/float64(e.Bytes), "stored/byte")
			}
			b.ReportMetric(median(own)/median(ref), "x-write+sha256+fsync")
		})
	}
}

func writeHashSync(b *testing.B, data []byte) time.Duration {
	start := time.Now()
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	h := sha256.New()
	for p := range slices.Chunk(data, 32<<10) {
		h.Write(p)
		if _, err := f.Write(p); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	f.Close()
	d := time.Since(start)
	os.Remove(f.Name())
	return d
}

func median(d []time.Duration) float64 {
	d = slices.Clone(d)
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// BenchmarkRead gets an entry and reads 2,000 characters or 50 lines anywhere.
func BenchmarkRead(b *testing.B) {
	data := mixed(b, benchMB()<<20)
	for _, codec := range []Codec{Zstd, Raw} {
		s := openStore(b, "", Options{Codec: codec})
		turn := begin(b, s, "turn")
		e := put(b, turn, data)
		for _, u := range []Unit{Bytes, Chars, Lines} {
			n := map[Unit]int64{Bytes: 2000, Chars: 2000, Lines: 50}[u]
			b.Run(fmt.Sprintf("%s/%s", codec, u), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 1))
				var times []time.Duration
				for b.Loop() {
					start := time.Now()
					c, err := turn.Get(e.ID)
					if err != nil {
						b.Fatal(err)
					}
					at := r.Int64N(c.Total(u) - n)
					if p, err := c.Slice(u, at, at+n, 1<<20); err != nil || len(p.Data) == 0 {
						b.Fatal(err)
					}
					c.Close()
					times = append(times, time.Since(start))
				}
				b.ReportMetric(median(times)/1e3, "p50-µs")
			})
		}
	}
}

// BenchmarkGrep compares with ripgrep on the plain file, where it is installed.
func BenchmarkGrep(b *testing.B) {
	data := mixed(b, benchMB()<<20)
	plain := filepath.Join(b.TempDir(), "plain")
	if err := os.WriteFile(plain, data, 0o600); err != nil {
		b.Fatal(err)
	}
	tests := []struct{ name, pattern string }{
		{"literal", "context deadline exceeded"},
		{"literals", "ErrClosed|ErrShutdown|ErrTimeout"},
		{"literal-inside", `func \(\w+ \*?\w+\) [A-Z]\w*Error\(`},
		{"literal-late", `^\s+return .*nil, fmt\.Errorf`},
		{"fold", `(?i)todo.*fixme`},
		{"classes", `\b\d{4}-\d{2}-\d{2}\b`},
		{"no-literal", `[a-z]{14,}_[0-9]{3}`},
	}
	for _, codec := range []Codec{Zstd, Raw} {
		turn := begin(b, openStore(b, "", Options{Codec: codec}), "turn")
		e := put(b, turn, data)
		for _, tt := range tests {
			b.Run(fmt.Sprintf("%s/%s", codec, tt.name), func(b *testing.B) {
				c := get(b, turn, e.ID)
				b.SetBytes(int64(len(data)))
				var rg, own []time.Duration
				for b.Loop() {
					n, d := ripgrep(b, tt.pattern, plain)
					rg = append(rg, d)
					start := time.Now()
					f, err := c.Grep(context.Background(), Query{Pattern: tt.pattern})
					own = append(own, time.Since(start))
					if err != nil || n >= 0 && f.Matches != n {
						b.Fatal(f.Matches, n, err)
					}
				}
				if median(rg) > 0 {
					b.ReportMetric(median(own)/median(rg), "x-rg")
				}
			})
		}
	}
}

// ripgrep counts lines; -1 where it is not installed.
func ripgrep(b *testing.B, pattern, file string) (int64, time.Duration) {
	if _, err := exec.LookPath("rg"); err != nil {
		return -1, 0
	}
	start := time.Now()
	out, _ := exec.Command("rg", "-c", "-a", "--include-zero", pattern, file).Output()
	d := time.Since(start)
	n, err := strconv.ParseInt(string(bytes.TrimSpace(out)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n, d
}

// BenchmarkPeak tells the most memory that a process had taken when it had
// stored a content, had read all of it, and had searched it.
func BenchmarkPeak(b *testing.B) {
	for b.Loop() {
		cmd := program(b, "peak", b.TempDir())
		cmd.Env = append(cmd.Env, "ROUSE_BENCH_MB="+strconv.Itoa(benchMB()))
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			what, kib, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.Atoi(kib)
			if err != nil {
				b.Skip("this system does not tell")
			}
			b.ReportMetric(float64(n)/1024, "MiB-"+what)
		}
	}
}

// peak stores, reads and searches one content, and prints the peaks in KiB.
func peak(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	turn, err := s.Begin("turn", proc.Self())
	if err != nil {
		return err
	}
	tellPeak("open")
	w := turn.Create(Origin{})
	for i := range benchMB() * 20_000 {
		fmt.Fprintf(w, "2026-11-21T04:15:26Z INFO line %d of %x\n", i, i*i*7919)
	}
	e, err := w.Commit(nil)
	if err != nil {
		return err
	}
	tellPeak("put")
	c, err := turn.Get(e.ID)
	if err != nil {
		return err
	}
	if _, err := c.WriteTo(io.Discard); err != nil {
		return err
	}
	tellPeak("read")
	for name, pattern := range map[string]string{"literal": "line 777", "classes": `\b[0-9]{7}\s[a-z]+\s[0-9a-f]*77777`} {
		if _, err := c.Grep(context.Background(), Query{Pattern: pattern}); err != nil {
			return err
		}
		tellPeak(name)
	}
	return nil
}

// tellPeak prints VmHWM of proc_pid_status(5).
func tellPeak(what string) {
	data, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	fmt.Println(what, kib)
}

// BenchmarkSmall stores and reads 10 KB in a store that is open, and opens one.
func BenchmarkSmall(b *testing.B) {
	b.Run("put+get", func(b *testing.B) {
		turn := begin(b, openStore(b, "", Options{}), "turn")
		data := mixed(b, 10_000)
		for b.Loop() {
			get(b, turn, put(b, turn, data).ID).Close()
		}
	})
	b.Run("open+close", func(b *testing.B) {
		dir := b.TempDir()
		openStore(b, dir, Options{})
		for b.Loop() {
			s, err := Open(dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
}
