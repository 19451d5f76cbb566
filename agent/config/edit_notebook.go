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

// SetRemote gives the text of a rouse.yaml whose notebooks run on the server at
// endpoint, and nothing else changed: comments and other keys stay.
func SetRemote(text []byte, endpoint, tokenEnv string) ([]byte, error) {
	c, out := Default(), string(text)
	if err := decode(text, &c); err != nil {
		return nil, fmt.Errorf("rouse.yaml: %s", yamlerror.Text(err))
	}
	for _, kv := range [][2]string{{"token_env", tokenEnv}, {"endpoint", endpoint}, {"backend", "remote"}} {
		var err error
		if out, err = setIn(out, "notebook", kv[0], quote(kv[1])); err != nil {
			return nil, err
		}
	}
	if err := decode([]byte(out), &c); err != nil {
		return nil, errOddNotebook
	}
	if n := c.Notebook; n.Backend != "remote" || n.Endpoint != endpoint || n.TokenEnv != tokenEnv {
		return nil, errOddNotebook
	}
	return []byte(out), c.Notebook.check()
}

var errOddNotebook = errors.New("rouse.yaml: the form of notebook: is too unusual to be changed here; write backend, endpoint and token_env there yourself")

// setIn sets one key of a section to a scalar, which is given as YAML.
func setIn(text, section, key, scalar string) (string, error) {
	node, err := find([]byte(text), section)
	if err != nil {
		return "", errOddNotebook
	}
	lines := strings.SplitAfter(text, "\n")
	switch {
	case node == nil:
		lines = addSection(lines, section, fmt.Sprintf("%s:\n  %s: %s\n", section, key, scalar))
	case node.Tag == "!!null":
		err = replace(lines, node, "{"+key+": "+scalar+"}")
	case node.Kind != yaml.MappingNode:
		return "", errOddNotebook
	case value(node, key) != nil:
		err = replace(lines, value(node, key), scalar)
	default:
		err = addKey(lines, node, key+": "+scalar)
	}
	if err != nil {
		return "", errOddNotebook
	}
	return strings.Join(lines, ""), nil
}

// addSection puts a section after the comment that tells of it, or at the end.
func addSection(lines []string, section, entry string) []string {
	told := regexp.MustCompile(`^#\s*` + section + `:`)
	i := slices.IndexFunc(lines, told.MatchString)
	for i >= 0 && i < len(lines) && strings.HasPrefix(lines[i], "#") && strings.HasSuffix(lines[i], "\n") {
		i++
	}
	if i > 0 && i < len(lines) {
		return slices.Insert(lines, i, entry)
	}
	if n := len(lines); n > 0 && lines[n-1] != "" {
		entry = "\n" + entry
	}
	return append(lines, entry)
}

// addKey puts a key before the first one of a mapping.
func addKey(lines []string, node *yaml.Node, entry string) error {
	if node.Line < 1 || node.Line > len(lines) {
		return errOddNotebook
	}
	line := []rune(lines[node.Line-1])
	at := node.Column - 1
	if at < 0 || at >= len(line) {
		return errOddNotebook
	}
	if node.Style&yaml.FlowStyle != 0 {
		if len(node.Content) > 0 {
			entry += ", "
		}
		at++ // the brace
	} else {
		indent := string(line[:at])
		if strings.TrimSpace(indent) != "" {
			return errOddNotebook
		}
		entry += "\n" + indent
	}
	lines[node.Line-1] = string(line[:at]) + entry + string(line[at:])
	return nil
}
