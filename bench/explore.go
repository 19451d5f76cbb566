package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"rouse/dispatcher"
	"rouse/internal/proc"
	"rouse/journal"
	"rouse/scratchpad"
	"rouse/scratchpad/observation"
	"rouse/tools"
)

// needle is what the explorers look for, in the middle of a log: at three sevenths,
// which halving does not meet by chance.
const needle = "ERROR payment 48213 refused: card expired"

// stamp is the form of the time with which each line of the log begins, and
// origin the time of the first; each line is a millisecond later.
const stamp = "2006-01-02 15:04:05.000"

var origin = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

// explorers tells the tokens that a script needs to find the needle by requests
// and answers such as a model's: by grep; by range, knowing when it happened;
// and by range alone, reading from the beginning on.
func explorers(dir string, most int64) error {
	fmt.Printf("\n%-36s %-26s %-26s %s\n", "needle in the middle of a log", "grep", "range, time known", "range, reading on: tokens (answers)")
	for _, size := range []int64{1e6, 10e6, 100e6, 1 << 30} {
		if size > most {
			break
		}
		e := &explorer{dir: dir, size: size}
		if err := e.park(); err != nil {
			return err
		}
		var cells []any
		for _, find := range []func() error{e.byGrep, e.byTime, e.byReading} {
			e.tokens, e.answers = e.view, 0
			if err := find(); err != nil {
				return errors.Join(err, e.store.Close())
			}
			cells = append(cells, fmt.Sprintf("%d (%d)", e.tokens, e.answers))
		}
		fmt.Printf("  %-34s %-26s %-26s %s\n", append([]any{fmt.Sprintf("%d bytes", e.total)}, cells...)...)
		if err := e.store.Close(); err != nil {
			return err
		}
	}
	return nil
}

// explorer asks a dispatcher, and counts what both say.
type explorer struct {
	dir   string
	size  int64
	store *observation.Store
	turn  *observation.Turn
	d     *dispatcher.Dispatcher

	id            string
	total         int64 // characters, which are bytes
	view          int   // tokens of the view of the log
	tokens, calls int
	answers       int
}

// park runs a tool that prints the log.
func (e *explorer) park() (err error) {
	if e.store, err = observation.Open(e.dir, observation.Options{}); err != nil {
		return err
	}
	if e.turn, err = e.store.Begin(fmt.Sprint(e.size), proc.Self()); err != nil {
		return err
	}
	if err := e.renew(); err != nil {
		return err
	}
	o, err := e.ask("journal", map[string]any{})
	e.id, e.total, e.view = o.ScratchpadID, o.SizeBytes, e.tokens
	if e.id == "" {
		return errors.Join(err, errors.New("the log was not parked"))
	}
	return err
}

// renew begins with a dispatcher that remembers no calls.
func (e *explorer) renew() error {
	print := func(_ context.Context, c tools.Call, _ struct{}) tools.Result {
		printLog(c.Output, e.size)
		return tools.Result{OK: true}
	}
	set, err := tools.NewSet(tools.New("journal", "Prints the log.", print))
	e.d = &dispatcher.Dispatcher{
		Tools: set, State: scratchpad.New(), Journal: unrecorded{}, Kept: true,
		Shelf: dispatcher.Shelf{Turn: func() (*observation.Turn, error) { return e.turn, nil }},
	}
	return err
}

func printLog(w io.Writer, size int64) {
	found := false
	for n, i := int64(0), 0; n < size; i++ {
		text := fmt.Sprintf("INFO request %d served in %d ms by worker-%d", i*7919%1e9, i*31%997, i%16)
		if !found && n >= size/7*3 {
			text, found = needle, true
		}
		k, _ := fmt.Fprintf(w, "%s %s\n", origin.Add(time.Duration(i)*time.Millisecond).Format(stamp), text)
		n += int64(k)
	}
}

type unrecorded struct{}

func (unrecorded) Append(journal.Payload) error { return nil }
func (unrecorded) Sync() error                  { return nil }

// ask makes one call, and adds the tokens of the call and of the answer.
func (e *explorer) ask(tool string, args map[string]any) (dispatcher.Observation, error) {
	if e.calls++; e.calls%200 == 0 {
		if err := e.renew(); err != nil {
			return dispatcher.Observation{}, err
		}
	}
	asked, err := json.Marshal(args)
	if err != nil {
		return dispatcher.Observation{}, err
	}
	o, err := e.d.Do(context.Background(), dispatcher.Action{Tool: tool, Args: asked})
	if err != nil {
		return o, err
	}
	if !o.OK {
		return o, fmt.Errorf("%s(%s): %s", tool, asked, o.Error)
	}
	answer, err := json.Marshal(o)
	e.tokens += tokens(fmt.Sprintf(`{"tool":%q,"args":%s}`, tool, asked)) + tokens(string(answer))
	return o, err
}

// tokens is an estimate on the safe side.
func tokens(text string) int { return (len(text) + 2) / 3 }

func (e *explorer) read(args map[string]any) (text string, err error) {
	e.answers++
	args["scratchpad_id"] = e.id
	o, err := e.ask("scratchpad_read", args)
	text, _ = o.Content.(string)
	return text, err
}

func (e *explorer) byGrep() error {
	text, err := e.read(map[string]any{"mode": "grep", "pattern": `payment \d+ refused`})
	return errors.Join(err, check(text))
}

func check(text string) error {
	if !strings.Contains(text, needle) {
		return errors.New("the needle was not found")
	}
	return nil
}

// byTime halves the log by the times in it until the rest fits in one answer.
func (e *explorer) byTime() error {
	from, to, when := int64(0), e.total, e.when()
	for to-from > 2000 {
		middle := (from + to) / 2
		text, err := e.read(map[string]any{"mode": "range", "start": middle, "n": 200})
		if err != nil {
			return err
		}
		_, line, _ := strings.Cut(text, "\n")
		at, err := time.Parse(stamp, line[:min(len(line), len(stamp))])
		switch {
		case strings.Contains(text, needle):
			return nil
		case err != nil:
			return err
		case at.After(when):
			to = middle + 200
		default:
			from = middle
		}
	}
	text, err := e.read(map[string]any{"mode": "range", "start": max(0, from-200), "end": to + 200})
	return errors.Join(err, check(text))
}

// when is the time of the needle: that of its line.
func (e *explorer) when() time.Time {
	n, i := int64(0), 0
	for ; n < e.size/7*3; i++ {
		n += int64(len(fmt.Sprintf("%s INFO request %d served in %d ms by worker-%d\n", stamp, i*7919%1e9, i*31%997, i%16)))
	}
	return origin.Add(time.Duration(i) * time.Millisecond)
}

func (e *explorer) byReading() error {
	last := ""
	for at := int64(0); at < e.total; {
		text, err := e.read(map[string]any{"mode": "range", "start": at, "n": 16000})
		if err != nil {
			return err
		}
		if text == "" {
			break
		}
		if strings.Contains(last+text, needle) {
			return nil
		}
		at, last = at+int64(len(text)), text[max(0, len(text)-len(needle)):]
	}
	return check("")
}
