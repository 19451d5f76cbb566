package proc

import (
	"bytes"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkDate is one short shell command: by os/exec alone, by Run, and by
// Run while a long-lived process runs, whose children a sweep must tell apart.
func BenchmarkDate(b *testing.B) {
	b.Run("os-exec", func(b *testing.B) {
		for b.Loop() {
			var out bytes.Buffer
			c := exec.Command("sh", "-c", "date -u")
			c.Stdout, c.Stderr = &out, &out
			if err := c.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("run", func(b *testing.B) { benchDate(b, newRunner()) })
	b.Run("run-beside-another", func(b *testing.B) {
		r := newRunner()
		p, err := r.Start(b.Context(), Command{Argv: []string{"sh", "-c", "(setsid sleep 1000 &) ; sleep 1000"}})
		if err != nil {
			b.Fatal(err)
		}
		benchDate(b, r)
		p.End()
		p.Wait()
	})
}

func benchDate(b *testing.B, r *Runner) {
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		e, err := r.Run(b.Context(), Command{Argv: []string{"sh", "-c", "date -u"}, Stdout: &out, Stderr: &out, Timeout: time.Minute, MaxOutput: 1 << 20})
		if err != nil || !e.OK() {
			b.Fatal(e, err)
		}
	}
}

// BenchmarkOutput is the speed at which output passes.
func BenchmarkOutput(b *testing.B) {
	const size = 256 << 20
	b.SetBytes(size)
	r := newRunner()
	for b.Loop() {
		out := &counter{}
		if _, err := r.Run(b.Context(), Command{Argv: []string{"head", "-c", "268435456", "/dev/zero"}, Stdout: out}); err != nil || out.n != size {
			b.Fatal(out.n, err)
		}
	}
}
