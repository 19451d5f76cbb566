package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rouse/agent/budget"
	"rouse/agent/notify"
)

func TestUnattended(t *testing.T) {
	const day = 24 * time.Hour
	c, err := load(t, "", nil)
	if err != nil || c.Failures.PauseAfter != 5 || time.Duration(c.Retention.Keep) != 30*day || time.Duration(c.Retention.KeepFailed) != 90*day || c.Limits.Money() {
		t.Errorf("%+v, %v", c.Unattended, err)
	}
	c, err = load(t, `
limits: {call: {tokens: 50_000}, cycle: {calls: 100}, day: {money: 0.25}, month: {money: 5, tokens: 1000000}}
failures: {pause_after: 0}
notify: [{command: [mail, me]}, {file: alerts.jsonl}]
heartbeat: https://hc.example/uuid
retention: {keep: 12h, keep_failed: 2d}
`, nil)
	want := Unattended{
		Approvals: Approvals{3 * 24 * Age(time.Hour)},
		Limits: budget.Limits{
			Call: budget.Amount{Tokens: 50000}, Cycle: budget.Amount{Calls: 100}, Day: budget.Amount{Money: 250_000_000},
			Month: budget.Amount{Money: 5_000_000_000, Tokens: 1000000},
		},
		Notify:    []notify.Sink{{Command: []string{"mail", "me"}}, {File: "alerts.jsonl"}},
		Heartbeat: "https://hc.example/uuid", Retention: Retention{Age(12 * time.Hour), Age(2 * day)},
	}
	if diff := cmp.Diff(want, c.Unattended); diff != "" || err != nil || !c.Limits.Money() {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestUnattendedErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"limits: {day: {tokens: 0}}\n", `line 1: "0" is not a whole number above 0; leave the key out`},
		{"limits: {day: {money: -1}}\n", `line 1: "-1" is not an amount of money`},
		{"limits: {day: {money: .nan}}\n", "is not an amount of money"},
		{"limits: {week: {money: 1}}\n", `unknown key "week"`},
		{"limits: {day: {dollars: 1}}\n", `unknown key "dollars"`},
		{"limits:\n  call: {calls: 1}\n", "line 2: limits.call.calls: a request to the model has no tool calls; use limits.cycle.calls"},
		{"failures: {pause_after: -1}\n", "not be below 0"},
		{"notify:\n  - file: a\n  - {}\n", "rouse.yaml: line 3: notify[1]: each entry is"},
		{"notify: [{command: [a], file: b}]\n", "each entry is"},
		{"notify: [{file: a, name: x}, {file: b, name: x}]\n", "notify[1]: another one is called file x, too"},
		{"notify: [{mail: {to: [me@a.example], from: me, host: 'a:25'}}]\n", "notify[0]: mail: from is an address"},
		{"notify: [{mail: {to: [a@a.example], from: a@a.example, host: a}}]\n", "notify[0]: mail: host is a server with its port"},
		{"notify: [{mail: {to: [a@a.example], from: a@a.example, host: 'a:25', user: a}}]\n", "user and password_env, the name of the variable"},
		{"notify: [{mail: {to: [a@a.example], from: a@a.example, host: 'a:25', user: a, password_env: A, tls: none}}]\n", "no password goes to another machine without TLS"},
		{"notify: [{mail: {to: [a@a.example], from: a@a.example, host: 'a:25', user: a, password_env: 'Hunter 2'}}]\n", "name the environment variable"},
		{"notify: [{webhook: {url: 'file:///etc'}}]\n", "webhook: url is an http or https address"},
		{"notify: [{webhook: {url: 'https://a/b'}}, {webhook: {url: 'https://a/c'}}]\n", "notify[1]: another one is called webhook a, too"},
		{"heartbeat: ftp://a/b\n", "line 1: heartbeat: use an http or https address"},
		{"report: {at: '0 8 * * *'}\n", "line 1: report: notify names no sink"},
		{"report: {when: changed}\n", "line 1: report.at is missing"},
		{"notify: [{file: a}]\nreport: {at: '0 8 * * *', when: never}\n", `report.when "never": use always`},
		{"notify: [{file: a}]\nreport: {at: '0 8 * * *', to: [boss]}\n", `report.to: no sink of notify is called "boss"`},
		{"notify: [{file: a}]\nreport: {at: noon}\n", "noon"},
		{"retention: {keep: 30}\n", `line 1: "30" is not an age; write 30d or 12h`},
		{"retention: {keep: 99999999d}\n", "is not an age"},
		{"retention: {keep: 100d}\n", "line 1: retention.keep_failed must not be shorter than keep"},
	}
	for _, tt := range tests {
		_, err := load(t, tt.text, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", tt.text, err, tt.want)
		}
	}
}
