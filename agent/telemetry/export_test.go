package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"rouse/home"
	"rouse/journal"
)

// rig is a home with journals, and a collector.
type rig struct {
	*Exporter
	got   []string // what it was sent, by path
	told  []string
	now   time.Time
	reply func(w http.ResponseWriter, r *http.Request)
}

func newRig(t *testing.T) *rig {
	r := &rig{now: time.Now(), reply: func(http.ResponseWriter, *http.Request) {}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.got = append(r.got, req.URL.Path+" "+req.Header.Get("X-Key")+" "+string(body))
		r.reply(w, req)
	}))
	t.Cleanup(web.Close)
	h := home.Home{Dir: t.TempDir()}
	if err := os.Mkdir(h.Logs(), 0o700); err != nil {
		t.Fatal(err)
	}
	r.Exporter = &Exporter{
		Home: h, URL: web.URL, Headers: "X-Key=a%20b,other=Bearer%20s3same99!", Name: "home", Timeout: time.Minute, Hide: strings.NewReplacer("sesame", "***").Replace,
		Now: func() time.Time { return r.now }, Sums: func(m *Meter) (Sums, error) { m.Day = "2026-04-01"; return Sums{string(Well): 1}, nil },
		Incident: func(_, text string) { r.told = append(r.told, text) },
	}
	return r
}

// slept adds the journal of a cycle.
func (r *rig) slept(t *testing.T, id, settled string) {
	at, events := time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC), ""
	for i, e := range []string{
		`"wake","settled":"` + settled + `","mark":"m` + id + `"`, `"request","iteration":1`, `"reply","text":"sesame","model":"m","usage":{"input":7,"output":2},"finish":"stop","ms":900`,
		`"intent","step":1,"tool":"shell","args":{"command":"sesame"}`, `"result","step":1,"tool":"shell","ok":false,"error":"exit 3","ms":1`,
		`"check","kind":"file","by":"operator","ok":true,"ms":4`, `"sleep","outcome":"done","task":"proven","exit":0`,
	} {
		events += fmt.Sprintf(`{"v":1,"seq":%d,"time":"%s","cycle":"%s","event":%s}`+"\n", i+1, at.Add(time.Duration(i)*time.Second).Format(time.RFC3339), id, e)
	}
	if err := os.WriteFile(r.Home.Journal(id), []byte(events), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A cycle is a trace, with texts only if they are wanted, and never with a secret; one that
// settled another leads to that.
func TestTrace(t *testing.T) {
	r := newRig(t)
	r.slept(t, "20260401_080000", "")
	r.Export()
	first := strings.Join(r.got, "\n")
	for _, want := range []string{
		"/v1/traces a b {", `"name":"invoke_agent home"`, `"name":"chat m"`, `"name":"execute_tool shell","parentSpanId"`, `"startTimeUnixNano":"1775030400000000000"`, `{"intValue":"7"}`,
		`"name":"check file"`, `"stringValue":"tool_error"`, `"status":{"code":2}`, "/v1/metrics a b {", `"name":"rouse.cycle.ok"`,
	} {
		if !strings.Contains(first, want) {
			t.Errorf("no %s in %s", want, first)
		}
	}
	if strings.Contains(first, "***") || strings.Contains(first, "exit 3") || strings.Contains(first, "sesame") {
		t.Error("texts were sent")
	}
	trace, _, _ := strings.Cut(first[strings.Index(first, `"traceId":"`):], ",")
	r.slept(t, "20260401_090000", "20260401_080000")
	r.Content, r.got = true, nil
	r.Export()
	if again := strings.Join(r.got, ""); strings.Count(again, trace) != 1 || !strings.Contains(again, `"links":[{`) || !strings.Contains(again, `{\"command\":\"***\"}`) || strings.Contains(again, "sesame") {
		t.Errorf("%s in %s", trace, again)
	}
}

// What a collector does not take now is sent later, what is bad in itself never again, and
// of both people are told once.
func TestTrouble(t *testing.T) {
	status := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	for name, c := range map[string]struct {
		reply func(w http.ResponseWriter, r *http.Request)
		later bool // it is sent once that is over
		said  string
	}{
		"hangs":  {nil, true, "cannot be reached"},
		"away":   {status(503, ""), true, "503"},
		"no key": {status(401, ""), true, "401"},
		"busy": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1800")
			w.WriteHeader(429)
		}, true, "429"},
		"bad":     {status(400, `{"message": "no span"}`), false, "400 Bad Request no span"},
		"echoes":  {status(401, `{"message": "not Bearer s3same99!, s3same99!"}`), true, "401 Unauthorized not ***, ***;"},
		"partial": {status(200, `{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}`), false, "rejected 2 of it: too old"},
	} {
		r := newRig(t)
		r.slept(t, "20260401_080000", "")
		r.reply = c.reply
		tries, web := 6, r.URL
		if c.reply == nil {
			silent, err := net.Listen("tcp", "127.0.0.1:0") // whose calls nobody takes
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			tries, r.Timeout, r.URL = 1, time.Millisecond, "http://"+silent.Addr().String()
		}
		for range tries {
			r.Export()
			sent := len(r.got)
			r.Export() // at once, which is no time
			if c.later && len(r.got) != sent {
				t.Errorf("%s: it is asked again at once", name)
			}
			r.now = r.now.Add(2 * time.Hour)
		}
		state := ReadState(r.Home)
		if c.later != (state.Upto == "0") || c.later && !strings.Contains(state.Error, c.said) || tries > 1 && !strings.Contains(strings.Join(r.told, "\n"), c.said) {
			t.Errorf("%s: %+v, told %q", name, state, r.told)
		}
		r.slept(t, "20260401_090000", "")
		r.Headers = ""
		r.URL, r.Timeout, r.reply, r.got = web, time.Minute, func(http.ResponseWriter, *http.Request) {}, nil
		r.Export()
		want := 2 // the new cycle and the metrics
		if c.later {
			want = 3
		}
		if state = ReadState(r.Home); len(r.got) != want || state.Upto != "20260401_090000" || state.Error != "" {
			t.Errorf("%s: %d messages, %+v", name, len(r.got), state)
		}
	}
}

// Names that a model made up are labels as any, but not without end; and what it says in a
// call ends no cycle.
func TestMadeUp(t *testing.T) {
	r, m := newRig(t), Meter{Cost: func(string, journal.Usage) (float64, bool) { return 0, false }}
	line := `{"time":"2026-04-01T08:00:00Z","event":"result","tool":%q,"ok":false}` + "\n"
	lines := fmt.Sprintf(line, "x\\u0000y") + fmt.Sprintf(line, "a\x1b\"} 1\nrouse_home_ok 0")
	lines = strings.ReplaceAll(lines, `\\u`, `\u`)
	long := strings.Replace(line, "%q", `"%d`+strings.Repeat("\U000e0041", 200)+`"`, 1)
	for i := range maxSums + 100 {
		lines += fmt.Sprintf(long, i)
	}
	update := func(text string) Sums {
		if err := os.WriteFile(r.Home.Journal("20260401_080000"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := m.Update(r.Home, time.Date(2026, 4, 1, 9, 0, 0, 0, time.Local)); err != nil {
			t.Fatal(err)
		}
		return m.Sums
	}
	if sums := update(lines + `{"event":"intent","args":{"event":"sleep"}}` + "\n"); len(sums) != 0 {
		t.Errorf("a cycle that is awake counts: %d sums", len(sums))
	}
	sums := update(lines + `{"event":"sleep","outcome":"failed"}` + "\n")
	told := string(sums.Prometheus())
	kept, _ := json.Marshal(sums) // of which a MiB is read
	if n := len(sums); n > maxSums+3 || len(kept) > 1<<19 || strings.Contains(told, "\nrouse_home_ok") || strings.ContainsAny(told, "\x00\x1b") {
		t.Errorf("%d sums, %d bytes: %.300q", n, len(kept), told)
	}
	r.Sums = func(*Meter) (Sums, error) { return sums, nil }
	r.slept(t, "20260401_090000", "")
	if r.Export(); !strings.Contains(strings.Join(r.got, ""), `{"stringValue":"x\\u0000y"}`) {
		t.Errorf("%.2000q", r.got)
	}
}
