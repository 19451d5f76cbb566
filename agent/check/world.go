package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/internal/clock"
	"rouse/internal/object"
	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/internal/text"
	"rouse/tools"
)

// World is what checks look at. Own is true for what the operator wants outside of the
// sandbox.
type World struct {
	// Run runs a command as a call of a tool; an error is why it did not succeed,
	// [ErrStuck] among them that it could not even run.
	Run func(ctx context.Context, c Check, call tools.Call) error
	// Started is told of each process.
	Started func(proc.Identity)
	// Open opens a regular file.
	Open func(path string, own bool) (*os.File, error)
	// Get fetches an address.
	Get func(ctx context.Context, c Check, body io.Writer) (status int, err error)
	// Redact takes the secrets out of what was seen.
	Redact *redact.Redactor
	// Began is when the cycle woke, and Now the time; nil is the wall clock.
	Began time.Time
	Now   func() time.Time
}

// ErrStuck is of a check that cannot be tested, and would not be at a second try.
var ErrStuck = errors.New("it cannot be tested")

// Result is what came of a check.
type Result struct {
	Check
	OK   bool
	Seen string // in a few words
	// Flaky says that it held at the second try alone.
	Flaky bool
	Took  time.Duration
}

// String is the result in one line.
func (r Result) String() string { return fmt.Sprintf("%s: %s", r.Check, r.Seen) }

const (
	maxSeen = 500      // characters of what was seen
	maxRead = 16 << 20 // bytes of a file or an answer that are searched
	maxTree = 1 << 20  // and of one that is read as JSON or YAML
	ahead   = time.Minute
	// coarse is how far the time of a file may lie before that of the clock.
	coarse = 10 * time.Millisecond
)

// Test tests a check. One that does not hold is tried once more.
func (w World) Test(ctx context.Context, c Check) Result {
	start := time.Now()
	seen, err := w.once(ctx, c)
	r := Result{Check: c, OK: err == nil, Seen: seen}
	if err != nil {
		r.Seen = says(err, seen)
	}
	if err != nil && !errors.Is(err, ErrStuck) && ctx.Err() == nil {
		if again, failed := w.once(ctx, c); failed == nil {
			r = Result{Check: c, OK: true, Flaky: true, Seen: "flaky: it held at the second try; at the first: " + r.Seen}
		} else {
			r.Seen = says(failed, again)
		}
	}
	r.Seen, r.Took = text.Brief(w.Redact.String(r.Seen), maxSeen), time.Since(start)
	return r
}

// says is what went wrong, and what was seen of it.
func says(err error, seen string) string {
	if seen == "" {
		return err.Error()
	}
	return err.Error() + ": " + seen
}

func (w World) once(ctx context.Context, c Check) (seen string, err error) {
	if c.Bad != "" {
		return "", fmt.Errorf("%w: %s", ErrStuck, c.Bad)
	}
	if c.May != nil {
		if err := c.May(c.URL); err != nil {
			return "", fmt.Errorf("%w: %w", ErrStuck, err)
		}
	}
	if c.Kind == Command { // which keeps to its time itself
		ends := &text.Ends{Head: 1 << 10, Tail: 3 << 10}
		out := w.Redact.Writer(ends) // what may begin a secret at the end is left out
		err = w.Run(ctx, c, tools.Call{Output: out, Started: w.Started})
		head, tail, _ := ends.Kept()
		if seen = last(string(head) + string(tail)); seen == "" && err == nil {
			seen = "exit code 0"
		}
		return seen, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("no answer within %s", c.Timeout))
	defer cancel()
	if c.Kind == File {
		return w.file(ctx, c)
	}
	return w.get(ctx, c)
}

// last are the last lines of an output, in one.
func last(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-5):], " | "))
}

func (w World) get(ctx context.Context, c Check) (seen string, err error) {
	body := &bytes.Buffer{}
	status, err := w.Get(ctx, c, text.Capped(body, maxRead))
	switch {
	case status == 0 || err != nil && status < 400:
		return "", cmp.Or(err, errors.New("no answer"))
	case c.Status != 0 && status != c.Status:
		return "", fmt.Errorf("status %d, not %d", status, c.Status)
	case c.Status == 0 && status >= 400:
		return "", fmt.Errorf("status %d", status)
	}
	return fmt.Sprintf("status %d", status), c.search(body.Bytes())
}

// search looks for the expression in a content.
func (c Check) search(content []byte) error {
	if c.matches == nil || c.matches.Match(content) {
		return nil
	}
	return fmt.Errorf("nothing matches %s in %s", strings.TrimPrefix(c.matches.String(), "(?m)"), text.Count(len(content), "byte"))
}

func (w World) file(ctx context.Context, c Check) (seen string, err error) {
	f, err := w.Open(c.Path, c.Own)
	if err != nil {
		return "", err
	}
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { f.Close() }) // a read that hangs ends too
	defer stop()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	seen = fmt.Sprintf("%s of %s", text.Count(int(info.Size()), "byte"), info.ModTime().Format("2006-01-02 15:04:05"))
	switch at := info.ModTime(); {
	case c.Newer && at.Before(w.Began.Add(-coarse)):
		return "", fmt.Errorf("it was last written at %s, before the cycle", at.Format("2006-01-02 15:04:05"))
	case c.Newer && at.After(clock.Now(w.Now).Add(ahead)):
		return "", fmt.Errorf("its time, %s, is still to come", at.Format("2006-01-02 15:04:05"))
	case !c.size.holds(info.Size()):
		return "", fmt.Errorf("%s, not %s%d", text.Count(int(info.Size()), "byte"), c.size.op, c.size.n)
	case c.matches == nil && c.at == "":
		return seen, nil
	}
	content, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err != nil {
		return "", err
	}
	if len(content) > maxRead {
		return "", fmt.Errorf("it is larger than the %d MiB that are searched", maxRead>>20)
	}
	return seen, cmp.Or(c.search(content), c.compare(content))
}

// compare looks at one value of JSON or YAML.
func (c Check) compare(content []byte) error {
	if c.at == "" {
		return nil
	}
	if len(content) > maxTree {
		return fmt.Errorf("it is larger than the %d MiB that are read as JSON or YAML", maxTree>>20)
	}
	var tree any
	read := yaml.Unmarshal
	if json.Valid(content) {
		read = object.Decode
	}
	if err := read(content, &tree); err != nil {
		return fmt.Errorf("neither JSON nor YAML: %s", text.Line(err.Error(), 200))
	}
	found, err := walk(tree, c.at)
	if err != nil {
		return err
	}
	if is, want := plain(found), plain(c.want); is != want {
		return fmt.Errorf("%s is %s, not %s", c.at, text.Line(is, 100), text.Line(want, 100))
	}
	return nil
}
