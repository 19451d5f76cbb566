package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Whole is a whole number, which may be written as 32_000.
type Whole int

// UnmarshalYAML refuses a fraction, which package yaml would cut off.
func (w *Whole) UnmarshalYAML(n *yaml.Node) error {
	if n.ShortTag() == "!!float" {
		return fmt.Errorf("line %d: `%s` where a whole number is wanted", n.Line, n.Value)
	}
	return n.Decode((*int)(w))
}

// Duration is a length of time, written as 90s, 2m or 1h30m.
type Duration time.Duration

// UnmarshalYAML reads the form that [time.ParseDuration] reads.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %q is not a length of time; write 90s, 2m or 1h30m", n.Line, n.Value)
	}
	*d = Duration(v)
	return nil
}

// Size is a number of bytes, written as 500, 16KiB, 64MiB or 1GiB.
type Size int64

// UnmarshalYAML reads a number with a binary unit; the empty string is 0.
func (s *Size) UnmarshalYAML(n *yaml.Node) error {
	text, shift := cmp.Or(strings.ReplaceAll(n.Value, "_", ""), "0"), 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if t, ok := strings.CutSuffix(text, unit); ok {
			text, shift = strings.TrimSpace(t), 10*(i+1)
		}
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || v > 1<<60>>shift {
		return fmt.Errorf("line %d: %q is not a size; write 500, 16KiB, 64MiB or 1GiB", n.Line, n.Value)
	}
	*s = Size(v << shift)
	return nil
}
