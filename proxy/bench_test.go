package proxy

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rouse/internal/proc"
)

// peer is a process that answers lines, as a client sees it.
type peer struct {
	b   *testing.B
	in  *os.File
	out *bufio.Reader
	id  int
}

// newPeer starts this binary as what the environment says, and says hello.
func newPeer(b *testing.B, env ...string) *peer {
	stdin, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	out, w := io.Pipe()
	r := &proc.Runner{Env: proc.Environ(os.Environ())}
	p, err := r.Start(b.Context(), proc.Command{Argv: []string{exe}, Env: env, Stdin: stdin, Stdout: w, Stderr: os.Stderr})
	if err != nil {
		b.Fatal(err)
	}
	stdin.Close()
	b.Cleanup(func() {
		in.Close()
		go io.Copy(io.Discard, out)
		p.Wait()
	})
	peer := &peer{b: b, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	peer.line(hello)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return peer
}

// line sends a request and waits for its answer.
func (p *peer) line(message string) string {
	io.WriteString(p.in, message+"\n")
	for {
		l, err := p.out.ReadString('\n')
		if err != nil {
			p.b.Fatal(err)
		}
		if strings.Contains(l, `"id"`) && !strings.Contains(l, `"method"`) {
			return l
		}
	}
}

func (p *peer) call(tool, args string) time.Duration {
	p.id++
	begun := time.Now()
	answer := p.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, p.id+10, tool, args))
	took := time.Since(begun)
	if strings.Contains(answer, `"error"`) {
		p.b.Fatal(answer)
	}
	return took
}

// BenchmarkCall compares calls of a server with those through the proxy, which is
// a process of its own, in turn. The bound of what it may add is 1 ms.
func BenchmarkCall(b *testing.B) {
	for _, tt := range []struct{ name, tool, args string }{
		{"small", "arguments", `{"a":"%d"%s}`},
		{"2KB", "big", `{"n":200,"word":"word-%d"%s}`},
		{"100KB-parked", "big", `{"n":10000,"word":"word-%d"%s}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			direct := newPeer(b, serverVariable+"=1")
			proxied := newPeer(b, proxyVariable+"="+b.TempDir())
			one := func(i int) (d, p time.Duration) {
				d = direct.call(tt.tool, fmt.Sprintf(tt.args, i, ""))
				p = proxied.call(tt.tool, fmt.Sprintf(tt.args, i, fmt.Sprintf(`,"task_scratchpad":"order %d"`, i)))
				return d, p
			}
			for i := range 50 { // both have begun
				one(i)
			}
			var ds, ps []time.Duration
			for i := range b.N {
				d, p := one(i)
				ds, ps = append(ds, d), append(ps, p)
			}
			slices.Sort(ds)
			slices.Sort(ps)
			at := func(l []time.Duration, percent int) float64 { return float64(l[(len(l)-1)*percent/100].Microseconds()) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(at(ds, 50), "direct-µs")
			b.ReportMetric(at(ps, 50), "proxied-µs")
			b.ReportMetric(at(ps, 50)-at(ds, 50), "added-µs")
			b.ReportMetric(at(ps, 99)-at(ds, 99), "added-p99-µs")
			b.ReportMetric(at(ps, 50)/at(ds, 50), "ratio")
		})
	}
}
