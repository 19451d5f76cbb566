package notify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rouse/internal/redact"
)

// events lists what a file of JSON lines holds.
func (r *rig) events(name string) (list []Event) {
	r.t.Helper()
	lines, err := os.ReadFile(filepath.Join(r.Home, name))
	r.must(err)
	for line := range strings.Lines(string(lines)) {
		var l Event
		r.must(json.Unmarshal([]byte(line), &l))
		list = append(list, l)
	}
	return list
}

// A message reaches the sinks that are named, once, whole and without secrets; a sink that
// failed gets it later, and what it said goes when all have it.
func TestMessage(t *testing.T) {
	secret := "hunter2" + "hunter2"
	r := newRig(t, Sink{File: "told.jsonl"}, Sink{Name: "boss", Quiet: true, Command: []string{"sh", "-c", "test -e up && cat >>boss.jsonl"}})
	r.Redact = redact.New(map[string]string{"PIN": secret})
	m := Message{
		Key: "report 1", Kind: Report, Cycle: "1", Subject: "home\r\nBcc: x: 3 of 4", Text: "one\ntwo " + secret, HTML: "<p>one</p>",
		Attachments: []Attachment{{"a.csv", []byte("1," + secret + "\n")}}, To: []string{"boss", "file", "boss"},
	}
	for range 2 {
		r.must(r.Send(t.Context(), m))
		r.must(r.Deliver(t.Context()))
	}
	r.must(r.Tell(t.Context(), Waiting, "key", "an event"))
	if r.Deliveries()["1"] != Undelivered {
		t.Errorf("%v", r.Deliveries())
	}
	r.must(os.WriteFile(filepath.Join(r.Home, "up"), nil, 0o600))
	r.now = r.now.Add(firstWait)
	r.must(r.Deliver(t.Context()))
	told, boss := r.events("told.jsonl"), r.events("boss.jsonl")
	if len(told) != 2 || len(boss) != 1 || r.Deliveries()["1"] != Delivered {
		t.Fatalf("%+v, %+v, %v", told, boss, r.Deliveries())
	}
	want := Event{
		HTML: m.HTML, Attachments: []Attachment{{"a.csv", []byte("1,[REDACTED:PIN]\n")}}, ID: told[0].ID, Kind: Report, Home: r.Home, Cycle: "1", Time: told[0].Time, Subject: `home\r\nBcc: x: 3 of 4`, Text: "one\ntwo [REDACTED:PIN]",
	}
	for _, got := range []Event{told[0], boss[0]} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if state, err := os.ReadFile(r.Path); err != nil || strings.Contains(string(state), "two") {
		t.Errorf("what it said is left: %s, %v", state, err)
	}
	// Of what waits and is too much, the oldest is given up.
	r.must(os.Remove(filepath.Join(r.Home, "up")))
	for _, key := range []string{"2", "3", "4"} {
		m.Key, m.Text, m.To = key, strings.Repeat("x", MaxMessage-100), []string{"boss"}
		r.must(r.Send(t.Context(), m))
	}
	list, err := r.Recent()
	if r.must(err); list[2].Deliveries[0].Status != GivenUp || list[2].Event.Text != list[2].Event.Subject || list[4].Deliveries[0].Status != ToSend {
		t.Errorf("%v, %v", list[2].Deliveries, list[4].Deliveries)
	}
	m.To = []string{"bos"}
	if err := r.Send(t.Context(), m); err == nil || !strings.Contains(err.Error(), `no sink of notify is called "bos"`) {
		t.Error(err)
	}
}
