package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"rouse/tools/notebook"
	nt "rouse/tools/notebook/notebooktest"
)

// What prints 100 MB, in large pieces and by lines of 100 bytes.
const (
	print100MB = "for _ in range(100): print('x' * 999_999)"
	lines100MB = "for _ in range(1_000_000): print('x' * 99)"
)

func benchConfig(b *testing.B) Config {
	c := config(b)
	c.Limits = notebook.Limits{Default: time.Minute}
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		c.Python = "/usr/bin/python3" // without the shims of version managers
	}
	return c
}

func benchNotebook(b *testing.B, c Config) *Runtime {
	nt.NeedPython(b)
	r := reopen(b, c, b.TempDir())
	if err := r.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return r
}

func drop(notebook.Event) {}

func BenchmarkCell(b *testing.B) {
	r := benchNotebook(b, benchConfig(b))
	for b.Loop() {
		out, err := r.Execute(b.Context(), notebook.Job{ID: "b", Number: 1, Code: "1+1"}, drop)
		if err != nil || out.Value != "2" {
			b.Fatal(err, out)
		}
	}
}

// BenchmarkFirstCell starts the process of an environment that exists.
func BenchmarkFirstCell(b *testing.B) {
	r := benchNotebook(b, benchConfig(b))
	for b.Loop() {
		b.StopTimer()
		if err := r.Reset(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := r.Execute(b.Context(), notebook.Job{ID: "b", Number: 1, Code: "1+1"}, drop); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPass is what FirstCell is compared with.
func BenchmarkPass(b *testing.B) {
	r := benchNotebook(b, benchConfig(b))
	for b.Loop() {
		if out, err := exec.Command(r.interpreter(), "-c", "pass").CombinedOutput(); err != nil {
			b.Fatal(err, string(out))
		}
	}
}

func BenchmarkPrint(b *testing.B) { benchPrint(b, print100MB) }
func BenchmarkLines(b *testing.B) { benchPrint(b, lines100MB) }

// benchPrint goes through the manager, as the tool does.
func benchPrint(b *testing.B, code string) {
	c := benchConfig(b)
	m := &notebook.Manager{Dir: b.TempDir(), FS: nil, Open: func(_, dir string) (notebook.Runtime, error) { return c.Open(dir) }}
	open, err := c.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	m.FS = open.c.FS
	defer m.Close(b.Context())
	if _, err := m.Exec(b.Context(), "b", notebook.Request{Code: "1"}); err != nil {
		b.Fatal(err)
	}
	var written int64
	peak := peakHeap(b)
	for b.Loop() {
		written = 0
		if _, err := m.Exec(b.Context(), "b", notebook.Request{Code: code, Output: count(&written)}); err != nil {
			b.Fatal(err)
		}
	}
	if written != 100_000_000 {
		b.Fatalf("%d bytes", written)
	}
	b.ReportMetric(float64(peak())/(1<<20), "MiB-heap")
}

type counter struct{ n *int64 }

func (c counter) Write(p []byte) (int, error) { *c.n += int64(len(p)); return len(p), nil }

func count(n *int64) counter { return counter{n} }

// peakHeap watches how much memory this process has from the system for its heap.
func peakHeap(b *testing.B) func() uint64 {
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse+m.StackInuse)
			select {
			case <-tick.C:
			case <-stop:
				done <- most
				return
			}
		}
	}()
	return func() uint64 { close(stop); return <-done }
}

func BenchmarkRestore100(b *testing.B) {
	r := benchNotebook(b, benchConfig(b))
	if _, err := r.Execute(b.Context(), notebook.Job{Code: "for i in range(100): globals()['v%d' % i] = list(range(1000))"}, drop); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := r.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := r.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkJupyter is what a Jupyter kernel takes, where one is installed.
func BenchmarkJupyter(b *testing.B) {
	python := ""
	for _, p := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(p, "-c", "import ipykernel, jupyter_client").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		b.Skip("ipykernel and jupyter_client are not installed")
	}
	script, err := filepath.Abs("testdata/jupyter.py")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		out, err := exec.Command(python, script, print100MB, lines100MB).Output()
		if err != nil {
			b.Fatal(err, string(out))
		}
		for line := range strings.Lines(string(out)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, _ := strconv.ParseFloat(value, 64)
			b.ReportMetric(n, name)
		}
	}
}
