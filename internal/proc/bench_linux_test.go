package proc

import (
	"bytes"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkDate is one short shell command by Run, each time beside the same by
// os/exec alone, so that both meet the same load of the machine; and again while
// a long-lived process runs, whose children a sweep must tell apart.
func BenchmarkDate(b *testing.B) {
	b.Run("alone", func(b *testing.B) { beside(b, newRunner()) })
	b.Run("with-another-running", func(b *testing.B) {
		r := newRunner()
		p, err := r.Start(b.Context(), Command{Argv: []string{"sh", "-c", "(setsid sleep 1000 &) ; sleep 1000"}})
		if err != nil {
			b.Fatal(err)
		}
		beside(b, r)
		p.End()
		p.Wait()
	})
}

func beside(b *testing.B, r *Runner) {
	var ours, plain []time.Duration
	argv := []string{"sh", "-c", "date -u"}
	for b.Loop() {
		var out bytes.Buffer
		begun := time.Now()
		e, err := r.Run(b.Context(), Command{Argv: argv, Stdout: &out, Stderr: &out, Timeout: time.Minute, MaxOutput: 1 << 20})
		ours = append(ours, time.Since(begun))
		if err != nil || !e.OK() {
			b.Fatal(e, err)
		}
		out.Reset()
		begun = time.Now()
		c := exec.Command(argv[0], argv[1:]...)
		c.Stdout, c.Stderr = &out, &out
		err = c.Run()
		plain = append(plain, time.Since(begun))
		if err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(ours)
	slices.Sort(plain)
	half := len(ours) / 2
	b.ReportMetric(float64(ours[half].Microseconds()), "µs-run")
	b.ReportMetric(float64(plain[half].Microseconds()), "µs-os/exec")
	b.ReportMetric(float64(ours[half])/float64(plain[half]), "ratio")
	b.ReportMetric(0, "ns/op") // both together: of no use
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
