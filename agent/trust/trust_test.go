package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
)

// key is that of the homes here.
var key = bytes.Repeat([]byte("k"), home.KeySize)

// newHome is a home in which cycles with these events ran, in order.
func newHome(t testing.TB, cycles ...[]journal.Payload) (h home.Home, newest string) {
	t.Helper()
	h = home.Home{Dir: t.TempDir()}
	if err := os.MkdirAll(h.Logs(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := h.PutKey(disk.OS{}, key); err != nil {
		t.Fatal(err)
	}
	for _, events := range cycles {
		newest = home.NextID(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), newest)
		w, err := journal.Create(disk.OS{}, h.Journal(newest), journal.NewChain(key, newest), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if err := w.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
	}
	return h, newest
}

func relied(url string) *journal.Trust {
	return &journal.Trust{BaseURL: url, BaseURLHash: hash(url), Servers: map[string]journal.TrustedServer{"s": {Command: "c1", Tools: "t1"}}}
}

const evil, good = "https://evil.example/v1", "https://good.example/v1"

// TestRead holds that nothing is new because the newest cycle has nothing to say.
func TestRead(t *testing.T) {
	slept := []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: relied(good)}}
	old := []journal.Payload{&journal.Wake{}, &journal.Sleep{}}
	tests := []struct {
		name    string
		cycles  [][]journal.Payload
		refused bool
	}{
		{"no cycle", nil, false},
		{"cycles of an old binary", [][]journal.Payload{old, old}, false},
		{"one that slept", [][]journal.Payload{slept}, true},
		{"one that is awake", [][]journal.Payload{{&journal.Wake{Trust: relied(good)}, &journal.Warning{}}}, true},
		{"one of an old binary since", [][]journal.Payload{slept, old}, true},
		{"a journal without a line since", [][]journal.Payload{slept, {}, {}}, true},
	}
	for _, tt := range tests {
		h, newest := newHome(t, tt.cycles...)
		k := Read(h, key, newest)
		err := k.Err(Found{BaseURL: evil})
		if (err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
		if (len(k.Tools("s")) > 0) != tt.refused {
			t.Errorf("%s: tools %q", tt.name, k.Tools("s"))
		}
		if err := k.Err(Found{BaseURL: good, Servers: []Server{{Name: "s", Command: "c1"}, {Name: "new", Command: "x"}}}); err != nil {
			t.Errorf("%s: what did not change: %v", tt.name, err)
		}
	}
}

// TestAccept holds that what a person accepted is used until it changes again,
// and that to remove the file takes that back.
func TestAccept(t *testing.T) {
	h, newest := newHome(t, []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: relied(good)}})
	f := Found{BaseURL: evil, Servers: []Server{{Name: "s", Command: "c2", Shown: "sh"}}}
	if list := Read(h, key, newest).Check(f); len(list) != 2 || !list[0].BaseURL || list[1].Server != "s" {
		t.Fatalf("Check = %v", list)
	}
	err := Accept(h, disk.OS{}, f.SetBaseURL)
	if err == nil {
		err = Accept(h, disk.OS{}, func(t *journal.Trust) { t.Set("s", journal.TrustedServer{Command: "c2"}) })
	}
	if err == nil {
		err = Read(h, key, newest).Accept(h, disk.OS{}, "s", "t2")
	}
	if err != nil {
		t.Fatal(err)
	}
	k := Read(h, key, newest)
	if err := k.Err(f); err != nil || len(k.Tools("s")) != 2 {
		t.Errorf("after Accept: %v, tools %q", err, k.Tools("s"))
	}
	next := k.Next(f)
	if next.BaseURLHash != hash(evil) || next.Servers["s"] != (journal.TrustedServer{Command: "c2", Tools: "t1"}) {
		t.Errorf("Next = %+v", next)
	}
	if err := k.Err(Found{BaseURL: good + "2"}); err == nil {
		t.Error("an address that nobody accepted is used")
	}
	if err := os.WriteFile(h.Accepted(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Read(h, key, newest).Err(f); err == nil {
		t.Error("a file that cannot be read accepts")
	}
}

// TestFallback holds that a new address of model.fallback, or another key for one, is
// not used before somebody accepted it; the first cycle that knows of them takes
// what it finds.
func TestFallback(t *testing.T) {
	spare, other := Address{good, "SPARE"}, Address{evil, "SPARE"}
	with := func(list ...Address) Found { return Found{BaseURL: good, Fallback: list} }
	older, newest := newHome(t, []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: relied(good)}})
	k := Read(older, key, newest)
	if err := k.Err(with(spare)); err != nil {
		t.Errorf("after a cycle that knew of none: %v", err)
	}
	for _, tt := range []struct {
		was, is []Address
		refused bool
	}{
		{nil, nil, false},
		{nil, []Address{spare}, true},
		{[]Address{spare}, []Address{spare}, false},
		{[]Address{spare}, nil, false},
		{[]Address{spare}, []Address{other}, true},
		{[]Address{spare}, []Address{{good, "OTHER"}}, true},
		{[]Address{spare, other}, []Address{other, spare}, false},
	} {
		h, newest := newHome(t, []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: k.Next(with(tt.was...))}})
		now := Read(h, key, newest)
		if err := now.Err(with(tt.is...)); (err != nil) != tt.refused {
			t.Errorf("was %v, is %v: %v", tt.was, tt.is, err)
		}
		if err := Accept(h, disk.OS{}, with(tt.is...).SetFallback); err != nil {
			t.Fatal(err)
		}
		if err := Read(h, key, newest).Err(with(tt.is...)); err != nil {
			t.Errorf("was %v, is %v, and accepted: %v", tt.was, tt.is, err)
		}
	}
}

// forge adds to a journal, or makes one, without the key.
func forge(t *testing.T, path, cycle string, events ...journal.Payload) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "forged")
	w, err := journal.Create(disk.OS{}, other, journal.NewChain([]byte("another"), cycle), time.Now)
	for _, e := range events {
		if err == nil {
			err = w.Append(e)
		}
	}
	text, readErr := os.ReadFile(other)
	f, openErr := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err := errors.Join(err, readErr, openErr); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
}

// TestForged holds that nothing is accepted, and nothing new, by what is written
// into logs/ without the key: lines, journals however many, and accepted.json.
func TestForged(t *testing.T) {
	slept := []journal.Payload{&journal.Wake{Trust: relied(good)}, &journal.Sleep{Trust: relied(good)}}
	awake := []journal.Payload{&journal.Wake{Trust: relied(good)}, &journal.Accepted{Server: "new", Tools: "n1"}, &journal.Warning{}}
	claim := &journal.Sleep{Outcome: "done", Trust: relied(evil)}
	old := func(h home.Home) string { return home.NextID(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), "") }
	tests := []struct {
		name   string
		cycle  []journal.Payload
		damage func(h home.Home)
	}{
		{"a sleep after the sleep", slept, func(h home.Home) { forge(t, h.Journal(old(h)), old(h), claim) }},
		{"a sleep of one that is awake", awake, func(h home.Home) { forge(t, h.Journal(old(h)), old(h), claim) }},
		{"a sleep that says nothing", slept, func(h home.Home) { forge(t, h.Journal(old(h)), old(h), &journal.Sleep{}) }},
		{"a journal", slept, func(h home.Home) {
			forge(t, h.Journal("20310101_000000"), "20310101_000000", &journal.Wake{Trust: relied(evil)}, claim)
		}},
		{"a hundred journals", slept, func(h home.Home) {
			for i := range 100 {
				forge(t, h.Journal(fmt.Sprintf("20310101_%06d", i)), "x", claim)
			}
		}},
		{"accepted.json", slept, func(h home.Home) {
			text, err := json.Marshal(relied(evil))
			if err := errors.Join(err, os.WriteFile(h.Accepted(), text, 0o600)); err != nil {
				t.Fatal(err)
			}
		}},
		{"accepted.json of another key", slept, func(h home.Home) {
			text, err := json.Marshal(agreed{*relied(evil), seal(*relied(evil), []byte("another"))})
			if err := errors.Join(err, os.WriteFile(h.Accepted(), text, 0o600)); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		h, _ := newHome(t, tt.cycle)
		tt.damage(h)
		newest, err := h.Newest()
		if err != nil {
			t.Fatal(err)
		}
		k := Read(h, key, newest)
		if k.Err(Found{BaseURL: evil}) == nil || k.Err(Found{BaseURL: good}) != nil || len(k.Tools("s")) != 1 {
			t.Errorf("%s: %v, %v, tools %q", tt.name, k.Err(Found{BaseURL: evil}), k.Err(Found{BaseURL: good}), k.Tools("s"))
		}
		if len(tt.cycle) == len(awake) && len(k.Tools("new")) != 1 {
			t.Errorf("%s: what it accepted is new", tt.name)
		}
	}
}

// TestAnotherKey holds that to remove the key makes nothing look new.
func TestAnotherKey(t *testing.T) {
	h, newest := newHome(t, []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: relied(good)}})
	for _, key := range [][]byte{nil, bytes.Repeat([]byte("n"), home.KeySize)} {
		if Read(h, key, newest).Err(Found{BaseURL: evil}) == nil {
			t.Error("it is taken for the first time")
		}
	}
}

// TestOverridden holds that the environment is the operator's, and that the file
// is not accepted meanwhile.
func TestOverridden(t *testing.T) {
	h, newest := newHome(t, []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: relied(good)}})
	k, f := Read(h, key, newest), Found{BaseURL: evil, Overridden: true}
	if err := k.Err(f); err != nil {
		t.Error(err)
	}
	if next := k.Next(f); next.BaseURLHash != hash(good) {
		t.Errorf("Next = %+v", next)
	}
}

// TestServersThatWereThere holds that a server is not new because it was away.
func TestServersThatWereThere(t *testing.T) {
	h, newest := newHome(t, []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: relied(good)}})
	next := Read(h, key, newest).Next(Found{BaseURL: good})
	h, newest = newHome(t, []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: next}})
	k := Read(h, key, newest)
	if k.CheckServer(Server{Name: "s", Command: "c2"}) == nil || len(k.Tools("s")) != 1 {
		t.Error("it counts as new")
	}
}

// TestTextsHoldNoSecret holds that an address is told without its password.
func TestTextsHoldNoSecret(t *testing.T) {
	h, newest := newHome(t, []journal.Payload{&journal.Wake{}, &journal.Sleep{Trust: relied(good)}})
	f := Found{BaseURL: "https://me:hid" + "den1@x.example/v1?key=hid" + "den2#hid" + "den3"}
	text := Read(h, key, newest).Err(f).Error()
	if strings.Contains(text, "hidden") || !strings.Contains(text, "is https://x.example/v1)") {
		t.Error(text)
	}
}
