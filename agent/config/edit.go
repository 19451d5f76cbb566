package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
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
		lines = insert(lines, entry)
	case node.Kind == yaml.SequenceNode && len(node.Content) == 0 || node.Tag == "!!null":
		if lines, err = replace(lines, node, quote(cron)); err != nil {
			return nil, err
		}
	default:
		if node = single(node); node == nil {
			return nil, errors.New("rouse.yaml has several entries under schedule: change the one you mean there")
		}
		if lines, err = replace(lines, node, quote(cron)); err != nil {
			return nil, err
		}
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
		return errors.New("rouse.yaml: the form of schedule: is too unusual to be changed here; write cron there yourself")
	}
	return nil
}

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
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// single is the specification of a schedule that has one entry.
func single(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		if len(n.Content) != 1 {
			return nil
		}
		n = n.Content[0]
	}
	if n.Kind == yaml.MappingNode {
		n = value(n, "cron")
	}
	return n
}

// insert puts an entry after the comment that tells of the schedule, or at the end.
func insert(lines []string, entry string) []string {
	told := regexp.MustCompile(`^#\s*schedule:`)
	if i := slices.IndexFunc(lines, told.MatchString); i >= 0 && strings.HasSuffix(lines[i], "\n") {
		return slices.Insert(lines, i+1, entry)
	}
	if n := len(lines); n > 0 && lines[n-1] != "" {
		entry = "\n" + entry
	}
	return append(lines, entry)
}

// replace writes a scalar, or an empty list, anew where it stands.
func replace(lines []string, n *yaml.Node, text string) ([]string, error) {
	if n.Line < 1 || n.Line > len(lines) || n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return nil, errors.New("rouse.yaml: the form of schedule: is too unusual to be changed here; write cron there yourself")
	}
	line := []rune(lines[n.Line-1])
	start := min(max(n.Column-1, 0), len(line))
	before, rest := string(line[:start]), string(line[start:])
	if n.Tag == "!!null" && !strings.HasSuffix(before, " ") {
		before += " "
	}
	old := regexp.MustCompile(`^('(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\[\s*\]|null|~|.*?)(\s*(?:[,}\]].*|\s#.*)?\r?\n?)$`).FindStringSubmatch(rest)
	if old == nil {
		return nil, errors.New("rouse.yaml: the form of schedule: is too unusual to be changed here; write cron there yourself")
	}
	lines[n.Line-1] = before + text + old[2]
	return lines, nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
