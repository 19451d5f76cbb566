package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"rouse/agent/budget"
	"rouse/agent/notify"
	"rouse/agent/schedule"
)

// Unattended is what a home needs that nobody looks at.
type Unattended struct {
	Limits   budget.Limits `yaml:"limits"`
	Failures Failures      `yaml:"failures"`
	Notify   []notify.Sink `yaml:"notify"`
	// Heartbeat is a URL that is asked, or a file that is touched, relative to
	// the home.
	Heartbeat string    `yaml:"heartbeat"`
	Retention Retention `yaml:"retention"`
	Report    Report    `yaml:"report"`
	// Approvals are calls that wait for a person.
	Approvals Approvals `yaml:"approvals"`
}

// Approvals says how long a call waits for a person.
type Approvals struct {
	Expire Age `yaml:"expire"`
}

// Report says when `rouse report` is sent, to which sinks of notify.
type Report struct {
	At   schedule.List `yaml:"at"`
	To   []string      `yaml:"to"`
	When string        `yaml:"when"`
}

func (r Report) check(sinks []notify.Sink) error {
	to, err := notify.Reach(sinks, r.To)
	switch {
	case !oneOf(r.When, "", "always", "changed", "attention"):
		return fmt.Errorf("report.when %q: use always, changed or attention", r.When)
	case len(r.At) == 0 && (r.When != "" || len(r.To) > 0):
		return errors.New("report.at is missing: write when it is sent, such as '0 8 * * *'")
	case err != nil:
		return fmt.Errorf("report.to: %w", err)
	case len(r.At) > 0 && len(to) == 0:
		return errors.New("report: notify names no sink that it could be sent to")
	}
	return nil
}

// checkLimits reports a limit without a number, which package yaml takes for none.
func checkLimits(text []byte) error {
	var file struct{ Limits map[string]map[string]any }
	if !bytes.Contains(text, []byte("limits")) || yaml.Unmarshal(text, &file) != nil {
		return nil
	}
	const mend = "is empty; write a number, or leave the key out for no limit"
	for span, limit := range file.Limits {
		if limit == nil {
			return fmt.Errorf("limits.%s %s", span, mend)
		}
		for thing, most := range limit {
			if most == nil {
				return fmt.Errorf("limits.%s.%s %s", span, thing, mend)
			}
		}
	}
	return nil
}

// Failures says from when on a home that fails is left to rest.
type Failures struct {
	// PauseAfter is after how many cycles in a row that failed for the same
	// cause; 0 is never.
	PauseAfter Whole `yaml:"pause_after"`
}

// Retention is how long what cycles leave is kept.
type Retention struct {
	Keep       Age `yaml:"keep"`
	KeepFailed Age `yaml:"keep_failed"` // of cycles that did not end well
}

func (u Unattended) check() error {
	switch {
	case u.Limits.Call.Calls > 0:
		return errors.New("limits.call.calls: a request to the model has no tool calls; use limits.cycle.calls")
	case u.Failures.PauseAfter < 0:
		return errors.New("failures.pause_after must not be below 0")
	case u.Retention.KeepFailed < u.Retention.Keep:
		return errors.New("retention.keep_failed must not be shorter than keep")
	}
	for i := range u.Notify {
		if err := notify.Check(u.Notify, i); err != nil {
			return fmt.Errorf("notify[%d]: %w", i, err)
		}
		if name := u.Notify[i].Variable(); name != "" && !variable.Get().MatchString(name) {
			return fmt.Errorf("notify[%d]: password_env and secret_env name the environment variable that holds the secret, not the secret", i)
		}
	}
	return cmp.Or(u.Report.check(u.Notify), checkHeartbeat(u.Heartbeat))
}

func checkHeartbeat(target string) error {
	if !strings.Contains(target, "://") {
		return nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || !oneOf(u.Scheme, "http", "https") {
		// The value may hold a password.
		return errors.New("heartbeat: use an http or https address, or a file")
	}
	return nil
}

// Age is a length of time in days, written as 30d, or shorter, as [Duration].
type Age time.Duration

// UnmarshalYAML reads a number of days, or what [time.ParseDuration] reads.
func (a *Age) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if days, ok := strings.CutSuffix(n.Value, "d"); ok {
		var whole int
		whole, err = strconv.Atoi(days)
		if whole > 36500 {
			err = strconv.ErrRange
		}
		v = time.Duration(whole) * 24 * time.Hour
	}
	if err != nil || v <= 0 {
		return fmt.Errorf("line %d: %q is not an age; write 30d or 12h", n.Line, n.Value)
	}
	*a = Age(v)
	return nil
}
