package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"rouse/internal/yamlerror"
)

// SetCron gives the text of a rouse.yaml whose schedule is one entry with a
// specification, and nothing else changed: comments stay, and so do the other
// keys of an entry that is there already. Where several are there it is an error.
func SetCron(text []byte, cron string) ([]byte, error) {
	lines := strings.SplitAfter(string(text), "\n")
	node, err := find(text, "schedule")
	if err != nil {
		return nil, err
	}
	entry := "schedule:\n  - cron: " + quote(cron) + "\n"
	switch {
	case node == nil:
		lines = addSection(lines, "schedule", entry)
	case single(node) == nil:
		err = errors.New("rouse.yaml has several entries under schedule: change the one you mean there")
	default:
		err = replace(lines, single(node), quote(cron))
	}
	if err != nil {
		return nil, err
	}
	out := []byte(strings.Join(lines, ""))
	return out, checkCron(out, cron)
}

// checkCron reads what was written.
func checkCron(text []byte, cron string) error {
	var c Config
	if err := decode(text, &c); err != nil {
		return fmt.Errorf("rouse.yaml: %s", yamlerror.Text(err))
	}
	if len(c.Schedule) != 1 || c.Schedule[0].Cron != cron {
		return errOddSchedule
	}
	return nil
}

var errOddSchedule = errors.New("rouse.yaml: the form of schedule: is too unusual to be changed here; write cron there yourself")

// find is the value of a key at the top, nil if it is not there.
func find(text []byte, key string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("rouse.yaml: %s", yamlerror.Text(err))
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil
	}
	return value(doc.Content[0], key), nil
}

func value(mapping *yaml.Node, key string) *yaml.Node {
	_, below := child(mapping, key)
	return below
}

// single is the specification of a schedule that has one entry, or none yet.
func single(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.SequenceNode && len(n.Content) > 1 {
		return nil
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind == yaml.MappingNode {
		n = value(n, "cron")
	}
	return n
}

// replace writes a scalar, or an empty list, anew where it stands.
func replace(lines []string, n *yaml.Node, text string) error {
	if n.Line < 1 || n.Line > len(lines) || n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return errOddSchedule
	}
	line := []rune(lines[n.Line-1])
	start := min(max(n.Column-1, 0), len(line))
	before, rest := string(line[:start]), string(line[start:])
	if n.Tag == "!!null" && !strings.HasSuffix(before, " ") {
		before += " "
	}
	old := regexp.MustCompile(`^('(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\[\s*\]|null|~|.*?)(\s*(?:[,}\]].*|\s#.*)?\r?\n?)$`).FindStringSubmatch(rest)
	if old == nil {
		return errOddSchedule
	}
	lines[n.Line-1] = before + text + old[2]
	return nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
