package proc

import (
	"bytes"
	"net/http"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"rouse/internal/sandbox"
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

// BenchmarkBox is the start of a program that does nothing, each time without a box, in
// one that lets it reach no network, and in one with a gate, so that all meet the same
// load of the machine.
func BenchmarkBox(b *testing.B) {
	if bubblewrap() == "" {
		b.Skip("bubblewrap is not installed")
	}
	s := sandbox.Look()
	s.Bubblewrap = bubblewrap()
	p := sandbox.Policy{Read: []string{"/"}, Write: []string{b.TempDir()}, Network: sandbox.None}
	none := sandbox.New(p, s)
	p.Network = sandbox.Listed
	p.Gate = func(inside sandbox.Listener) (sandbox.Door, error) {
		return answers{&http.Server{}, new(atomic.Int32)}.open(inside)
	}
	boxes := map[string]*sandbox.Box{"bare": nil, "none": none, "listed": sandbox.New(p, s)}
	took := map[string][]time.Duration{}
	r := newRunner()
	for b.Loop() {
		for name, box := range boxes {
			begun := time.Now()
			if e, err := r.Run(b.Context(), Command{Argv: []string{"/bin/true"}, Dir: "/", Box: box}); err != nil || !e.OK() {
				b.Fatal(name, e, err)
			}
			took[name] = append(took[name], time.Since(begun))
		}
	}
	for name, list := range took {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds()), "µs-"+name)
		b.ReportMetric(float64(list[0].Microseconds()), "µs-best-"+name)
	}
	b.ReportMetric(0, "ns/op")
}
