package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Unattended is what a home needs that nobody looks at.
type Unattended struct {
	Limits   Limits   `yaml:"limits"`
	Failures Failures `yaml:"failures"`
	Notify   []Sink   `yaml:"notify"`
	// Heartbeat is a URL that is asked, or a file that is touched, relative to
	// the home.
	Heartbeat string    `yaml:"heartbeat"`
	Retention Retention `yaml:"retention"`
}

// Limits are the most that one request, a cycle, a day and a month may use.
type Limits struct {
	Call  Limit `yaml:"call"`
	Cycle Limit `yaml:"cycle"`
	Day   Limit `yaml:"day"`
	Month Limit `yaml:"month"`
}

// Limit is the most of each thing that may be used; what is 0 has no limit.
type Limit struct {
	Tokens Count `yaml:"tokens"`
	Money  Money `yaml:"money"`
	Calls  Count `yaml:"calls"` // of tools
}

// Limited says whether money is limited anywhere, so that a price is needed.
func (l Limits) Limited() bool { return l.Call.Money+l.Cycle.Money+l.Day.Money+l.Month.Money > 0 }

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

// Sink takes notifications; one of its fields is set.
type Sink struct {
	Command []string `yaml:"command"` // the program and its arguments
	File    string   `yaml:"file"`    // relative to the home
}

// Retention is how long what cycles leave is kept.
type Retention struct {
	Keep       Age `yaml:"keep"`
	KeepFailed Age `yaml:"keep_failed"` // of cycles that did not end well
}

func unattended() Unattended {
	const day = Age(24 * time.Hour)
	return Unattended{Failures: Failures{PauseAfter: 5}, Retention: Retention{Keep: 30 * day, KeepFailed: 90 * day}}
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
	for i, s := range u.Notify {
		if len(s.Command) > 0 == (s.File != "") || len(s.Command) > 0 && s.Command[0] == "" {
			return fmt.Errorf("notify[%d]: each entry is {command: [program, argument]} or {file: path}", i)
		}
	}
	return checkHeartbeat(u.Heartbeat)
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

// Count is a number above 0, which may be written as 200_000.
type Count int64

// UnmarshalYAML refuses 0, which would not mean what it seems to.
func (c *Count) UnmarshalYAML(n *yaml.Node) error {
	v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64)
	if err != nil || v <= 0 || v > 1e15 {
		return fmt.Errorf("line %d: %q is not a whole number above 0; leave the key out for no limit", n.Line, n.Value)
	}
	*c = Count(v)
	return nil
}

// Money is an amount in billionths of the unit of prices.yaml.
type Money int64

// UnmarshalYAML reads a number of units above 0, such as 0.25.
func (m *Money) UnmarshalYAML(n *yaml.Node) error {
	v, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || !(v >= 1e-9 && v <= 1e9) {
		return fmt.Errorf("line %d: %q is not an amount of money above 0, such as 0.25; leave the key out for no limit", n.Line, n.Value)
	}
	*m = Money(math.Round(v * 1e9))
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
