package hook

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestVerify: what the senders' own documentation gives as an example is taken, and nothing
// that differs from it.
func TestVerify(t *testing.T) {
	const slackBody = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	now := time.Unix(1531420618, 0)
	at := strconv.FormatInt(now.Unix(), 10)
	for _, c := range []struct{ sign, secret, header, value, body string }{
		{GitHub, "It's a Secret to Everybody", "X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "Hello, World!"},
		{Slack, "8f742231b10e8888abcd99yyyzzz85a5", "X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", slackBody},
		{GitLab, "a token", "X-Gitlab-Token", "a token", "{}"},
		{Bearer, "a token", "Authorization", "Bearer a token", "{}"},
		{"", "a secret", SignatureHeader, Sign("a secret", at, []byte("{}")), "{}"},
	} {
		s := Spec{Name: "x", Sign: c.sign}
		try := func(secret, value, body string, now time.Time) error {
			h := http.Header{}
			h.Set(c.header, value)
			h.Set("X-Slack-Request-Timestamp", at)
			h.Set(TimeHeader, at)
			return s.Verify(secret, h, []byte(body), now)
		}
		if err := try(c.secret, c.value, c.body, now.Add(4*time.Minute)); err != nil {
			t.Errorf("%s: %v", c.sign, err)
		}
		hmac := c.sign != GitLab && c.sign != Bearer
		timed := c.sign == Slack || c.sign == ""
		for name, err := range map[string]error{
			"another secret": try(c.secret+"x", c.value, c.body, now), "no secret": try("", c.value, c.body, now), "no signature": try(c.secret, "", c.body, now),
			"cut": try(c.secret, c.value[:len(c.value)-1], c.body, now), "upper case": try(c.secret, strings.ToUpper(c.value), c.body, now),
		} {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %s was taken", c.sign, name)
			}
		}
		if err := try(c.secret, c.value, c.body+" ", now); (err != nil) != hmac {
			t.Errorf("%s: another body: %v", c.sign, err)
		}
		for _, off := range []time.Duration{-6 * time.Minute, 6 * time.Minute, 1000 * time.Hour} {
			if err := try(c.secret, c.value, c.body, now.Add(off)); (err != nil) != timed {
				t.Errorf("%s: %s away: %v", c.sign, off, err)
			}
		}
	}
}

// TestTask: a template makes one task of what was sent, or says why not.
func TestTask(t *testing.T) {
	const issue = `{"action":"opened","issue":{"number":7,"title":"it\nbreaks"},"labels":["a","b"]}`
	deep, _ := json.Marshal(strings.Repeat("x", 70_000))
	for _, c := range []struct{ template, kind, body, want string }{
		{"", "application/json", issue, issue},
		{"Look at {{.issue.number}}: {{line 40 .issue.title}}", "application/json; charset=utf-8", issue, `Look at 7: it\nbreaks`},
		{"{{range .labels}}{{.}};{{end}} {{json .issue}}", "", issue, `a;b; {"number":7,"title":"it\nbreaks"}`},
		{"{{.user_name}} asks: {{.text}}", "application/x-www-form-urlencoded", "user_name=road&text=how+are+you%3F", "road asks: how are you?"},
		{"{{.issue.nothing}}", "", issue, "error: nothing"},
		{"{{.a.b.c}}", "", `{"a":1}`, "error: b"},
		{"{{if false}}x{{end}}", "", issue, "error: it is empty"},
		{"{{.}}", "", string(deep), "error: the limit is 65536"},
		{"", "", "{not json", "error: invalid character"},
	} {
		s := Spec{Name: "x", SecretEnv: "S", Template: c.template}
		got, _, err := s.Task(c.kind, []byte(c.body))
		if want, fails := strings.CutPrefix(c.want, "error: "); fails {
			if !errors.Is(err, ErrTask) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q, %v, want %s", c.template, got, err, want)
			}
		} else if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", c.template, got, err, want)
		}
	}
}

// TestValidate names the key that cannot be meant.
func TestValidate(t *testing.T) {
	for want, s := range map[string]Spec{
		"name": {Name: "A b", SecretEnv: "S"}, "secret_env": {Name: "a"}, "sign": {Name: "a", SecretEnv: "S", Sign: "md5"}, "wake": {Name: "a", SecretEnv: "S", Wake: "never"},
		"per_hour": {Name: "a", SecretEnv: "S", PerHour: -1}, "template": {Name: "a", SecretEnv: "S", Template: "{{.x"}, "check": {Name: "a", SecretEnv: "S", Check: map[string]any{"odd": 1}},
	} {
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", s, err, want)
		}
	}
}

// TestID: what is sent again is the same delivery, what a sender means as another is not.
func TestID(t *testing.T) {
	id := func(sign, secret, body string, header ...string) string {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return Spec{Name: "x", Sign: sign}.ID(secret, h, []byte(body))
	}
	for name, c := range map[string]struct {
		same bool
		a, b string
	}{
		"github, again":               {true, id(GitHub, "s", "{}", "X-Github-Delivery", "1"), id(GitHub, "s", "{}", "X-Github-Delivery", "2")},
		"github, another body":        {false, id(GitHub, "s", "{}"), id(GitHub, "s", "{} ")},
		"another secret":              {false, id(GitHub, "s", "{}"), id(GitHub, "t", "{}")},
		"slack, at another time":      {false, id(Slack, "s", "a", "X-Slack-Request-Timestamp", "1"), id(Slack, "s", "a", "X-Slack-Request-Timestamp", "2")},
		"plain, again, with an id":    {true, id("", "s", `{"id":"7"}`, TimeHeader, "1"), id("", "s", `{"id":"7"}`, TimeHeader, "2")},
		"plain, at another time":      {false, id("", "s", "{}", TimeHeader, "1"), id("", "s", "{}", TimeHeader, "2")},
		"bearer, the same twice":      {false, id(Bearer, "s", "{}"), id(Bearer, "s", "{}")},
		"bearer, again, with its key": {true, id(Bearer, "s", "{}", "Idempotency-Key", "k"), id(Bearer, "s", "{}", "Idempotency-Key", "k")},
	} {
		if (c.a == c.b) != c.same || len(c.a) != 32 {
			t.Errorf("%s: %s, %s", name, c.a, c.b)
		}
	}
}
