package notebook

import (
	"io"
	"strings"

	"rouse/internal/redact"
	"rouse/internal/text"
)

// printed takes what comes out of a cell, cleans it, keeps a part of it and
// passes it on.
type printed struct {
	stdout, stderr text.Ends
	logs           []string
	err            error // of whom it is passed on to

	to       io.Writer
	progress func(string)
	redact   *redact.Redactor
	out, bad io.WriteCloser // clean what comes
}

func newPrinted(r *redact.Redactor, q Request) *printed {
	ends := text.Ends{Head: keepHead, Tail: keepTail}
	p := &printed{stdout: ends, stderr: ends, to: q.Output, progress: q.Progress, redact: r}
	p.out, p.bad = r.Writer(writer(p.pass)), r.Writer(&p.stderr)
	return p
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// pass keeps clean output and passes it on. Who does not take it any more is
// not asked again; the cell goes on.
func (p *printed) pass(b []byte) (int, error) {
	p.stdout.Write(b)
	if p.to != nil && p.err == nil {
		_, p.err = p.to.Write(b)
	}
	return len(b), nil
}

func (p *printed) event(e Event) {
	switch e.Stream {
	case Stdout:
		p.out.Write(e.Data)
	case Stderr:
		p.bad.Write(e.Data)
	case Log:
		line := strings.TrimSpace(strings.ToValidUTF8(p.redact.String(string(e.Data)), "\uFFFD"))
		if len(p.logs) < keepLogs {
			p.logs = append(p.logs, line)
		}
		if p.progress != nil {
			p.progress(line)
		}
	}
}

// close ends the output, which is cut where its cell was.
func (p *printed) close(isCut bool) {
	if isCut {
		redact.Cut(p.out)
		redact.Cut(p.bad)
	}
	p.out.Close()
	p.bad.Close()
}
