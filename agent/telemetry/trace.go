package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strconv"
	"time"

	"rouse/internal/text"
	"rouse/journal"
)

// object is a message of OTLP as protobuf's JSON has it, but for the ids, which are
// hexadecimal: [OTLP/JSON].
//
// [OTLP/JSON]: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
type object = map[string]any

// attributes are names and values in turn; empty texts are left out.
func attributes(pairs ...any) []object {
	list := []object{}
	for i := 0; i < len(pairs); i += 2 {
		value := object{}
		switch v := pairs[i+1].(type) {
		case string:
			if v == "" {
				continue
			}
			value["stringValue"] = v
		case int:
			value["intValue"] = strconv.Itoa(v)
		case []string:
			var values []object
			for _, s := range v {
				values = append(values, object{"stringValue": s})
			}
			value["arrayValue"] = object{"values": values}
		}
		list = append(list, object{"key": pairs[i], "value": value})
	}
	return list
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// maxSpans, maxContent and maxJournal bound what is sent of a cycle, of a text in it, and what is
// read for that.
const maxSpans, maxContent, maxJournal = 5000, 16 << 10, 16 << 20

// tracing makes the spans of a cycle of its journal.
type tracing struct {
	*Exporter
	trace string
	last  time.Time
	root  object
	spans []object
	open  map[string]object // by "reply", or the step of a call
	model string
	used  journal.Usage
}

// traceOf is the id of a cycle's trace, and that of its root: of what the process of the
// cycle alone has.
func traceOf(cycle string, w *journal.Wake) (trace, root string) {
	sum := sha256.Sum256([]byte(cycle + "\x00" + w.Mark + "\x00" + w.Base + w.Owner.Boot))
	return hex.EncodeToString(sum[:16]), hex.EncodeToString(sum[16:24])
}

// spansOf are those of a cycle, none where it is not over.
func (e *Exporter) spansOf(cycle string) ([]object, error) {
	t := tracing{Exporter: e, open: map[string]object{}, model: e.Model}
	for ev, err := range e.events(e.Home.Journal(cycle)) {
		if err != nil {
			return nil, err
		}
		t.last = ev.Time
		switch d := ev.Data.(type) {
		case *journal.Wake:
			t.wake(cycle, ev.Time, d)
		case *journal.Sleep:
			if t.root != nil && t.root["endTimeUnixNano"] == nil { // more of them are a person's
				t.sleep(d)
			}
		default:
			if t.root != nil {
				t.take(d, ev.Time)
			}
		}
	}
	if t.root["endTimeUnixNano"] == nil {
		return nil, nil
	}
	return append(t.spans, t.root), nil
}

// events are those of a journal; of one that takes long to read the first and the last.
func (e *Exporter) events(path string) iter.Seq2[journal.Event, error] {
	if info, err := os.Stat(path); err != nil || info.Size() < maxJournal {
		return journal.Read(path)
	}
	return func(yield func(journal.Event, error) bool) {
		if yield(journal.First(path)) {
			yield(journal.Last(path))
		}
	}
}

func (t *tracing) wake(cycle string, at time.Time, d *journal.Wake) {
	trace, id := traceOf(cycle, d)
	t.trace, t.root = trace, object{"traceId": trace, "spanId": id, "name": Invoke + " " + t.Name, "kind": 1, "startTimeUnixNano": nanos(at),
		"attributes": attributes(Operation, Invoke, Agent, t.Name, Cycle, cycle)}
	if before, err := journal.First(t.Home.Journal(d.Settled)); d.Settled != "" && err == nil {
		if w, ok := before.Data.(*journal.Wake); ok {
			trace, span := traceOf(d.Settled, w)
			t.root["links"] = []object{{"traceId": trace, "spanId": span, "attributes": attributes(Cycle, d.Settled)}}
		}
	}
}

func (t *tracing) sleep(d *journal.Sleep) {
	for _, s := range t.open { // whose end nobody saw
		t.end(s, t.last, "unknown")
	}
	t.end(t.root, t.last, unless(d.Exit == 0, d.Outcome), Outcome, d.Outcome, Task, d.Task, Exit, d.Exit, Input, t.used.Input, Output, t.used.Output)
}

// begin begins a span below the root; beyond maxSpans it leads nowhere.
func (t *tracing) begin(name string, kind int, at time.Time, pairs ...any) object {
	sum := sha256.Sum256(fmt.Append(nil, t.trace, len(t.spans)))
	s := object{"traceId": t.trace, "spanId": hex.EncodeToString(sum[:8]), "parentSpanId": t.root["spanId"], "name": name, "kind": kind,
		"startTimeUnixNano": nanos(at), "attributes": attributes(pairs...)}
	if len(t.spans) < maxSpans {
		t.spans = append(t.spans, s)
	}
	return s
}

func (t *tracing) end(s object, at time.Time, why string, pairs ...any) {
	s["endTimeUnixNano"] = nanos(at)
	s["attributes"] = append(s["attributes"].([]object), attributes(append(pairs, Error, why)...)...)
	if why != "" {
		s["status"] = object{"code": 2}
	}
}

// unless is a word for what did not go well.
func unless(well bool, word string) string {
	if well {
		return ""
	}
	return word
}

// text is what may be sent of a text.
func (t *tracing) text(s string) string {
	if !t.Content {
		return ""
	}
	s = t.Hide(s)
	return s[:min(len(s), maxContent)]
}

// take makes spans of what happens in a cycle.
func (t *tracing) take(data journal.Payload, at time.Time) {
	switch d := data.(type) {
	case *journal.Request:
		t.open["reply"] = t.begin(Chat+" "+t.model, 3, at, Operation, Chat, Provider, t.Provider, Iteration, d.Iteration)
	case *journal.Reply:
		if d.Model != "" {
			t.model = d.Model
		}
		s := t.ended("reply", Chat, at, d.Ms)
		s["name"] = Chat + " " + t.model
		t.used.Input, t.used.Output = t.used.Input+d.Usage.Input, t.used.Output+d.Usage.Output
		t.end(s, at, "", Model, t.model, Input, d.Usage.Input, Output, d.Usage.Output, Cached, d.Usage.Cached, Finish, []string{text.Line(d.Finish, maxLabel)})
		if t.Content {
			said, _ := json.Marshal([]object{{"role": "assistant", "parts": []object{{"type": "text", "content": t.text(d.Text)}}}})
			t.end(s, at, "", Messages, string(said))
		}
	case *journal.Intent:
		t.open[fmt.Sprint(d.Step)] = t.begin(Execute+" "+d.Tool, 1, at, Operation, Execute, Tool, d.Tool, Step, d.Step, Effect, d.Effect, Arguments, t.text(string(d.Args)))
	case *journal.Result: // of a call that was not made, the name may be anything
		name := text.Line(d.Tool, maxLabel)
		t.end(t.ended(fmt.Sprint(d.Step), Execute+" "+name, at, d.Ms, Operation, Execute, Tool, name, Step, d.Step), at, unless(d.OK, "tool_error"), Result, t.text(string(d.Content)+d.Error))
	case *journal.Checked:
		t.end(t.ended("", Check+" "+d.Kind, at, d.Ms, Kind, d.Kind, By, d.By), at, unless(d.OK, "check_failed"), Seen, t.text(d.Seen))
	}
}

// ended takes the open span with a key; one that nobody opened began so long ago.
func (t *tracing) ended(key, name string, at time.Time, ms int64, pairs ...any) object {
	s := t.open[key]
	delete(t.open, key)
	if s == nil {
		s = t.begin(name, 1, at.Add(-time.Duration(ms)*time.Millisecond), pairs...)
	}
	return s
}
