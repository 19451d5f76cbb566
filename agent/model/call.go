package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"rouse/internal/jsonl"
)

// ParseCall reads a tool call as people write it, on one line: the tool's name,
// then a JSON object or words like key="value".
//
//	write_file {"path": "hello.txt", "content": "hi"}
//	shell command="date -u" timeout=5
//
// A value is JSON, or else a text without spaces and quotes. A name alone is not
// a call, so that prose never is one: write list_files {} instead. args is an
// object with its keys in the order of the line.
func ParseCall(line string) (tool string, args json.RawMessage, err error) {
	if !utf8.ValidString(line) {
		return "", nil, errors.New("not UTF-8")
	}
	line = strings.Trim(line, " \t\r")
	tool, rest := cutWord(line)
	switch {
	case !isName(tool):
		return "", nil, fmt.Errorf("%.40q is not the name of a tool", tool)
	case rest == "":
		return "", nil, fmt.Errorf("no arguments (a call without any is written %s {})", tool)
	case rest[0] == '{':
		args, err = parseObject(rest)
	default:
		args, err = parseWords(rest)
	}
	if err != nil {
		return "", nil, err
	}
	return tool, args, nil
}

// isName reports whether a tool could have this name.
func isName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// cutWord returns the text up to the first blank and the text behind the blanks.
func cutWord(text string) (word, rest string) {
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimLeft(text[end:], " \t")
}

func parseObject(text string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, fmt.Errorf("arguments: %v", err)
	}
	return json.RawMessage(text), nil
}

func parseWords(text string) (json.RawMessage, error) {
	seen := make(map[string]bool)
	var args bytes.Buffer
	for text != "" {
		key, rest, ok := strings.Cut(text, "=")
		if !ok || !isName(key) {
			word, _ := cutWord(text)
			return nil, fmt.Errorf("%.40q is not key=value", word)
		}
		if seen[key] {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		value, rest, err := parseValue(rest)
		if err != nil {
			return nil, fmt.Errorf("%s: %v", key, err)
		}
		fmt.Fprintf(&args, ",%q:%s", key, value)
		text = rest
	}
	return append(append([]byte("{"), args.Bytes()[1:]...), '}'), nil
}

// parseValue reads one value and the blanks behind it.
func parseValue(text string) (value []byte, rest string, err error) {
	if text != "" && strings.ContainsRune(`"{[`, rune(text[0])) {
		return parseJSON(text)
	}
	word, rest := cutWord(text)
	switch {
	case word == "":
		return nil, "", errors.New(`no value (an empty text is written "")`)
	case strings.Contains(word, `"`):
		return nil, "", fmt.Errorf(`%.40q: a text with quotes or spaces is written "…"`, word)
	case json.Valid([]byte(word)):
		return []byte(word), rest, nil
	}
	return encode(word), rest, nil
}

func parseJSON(text string) (value []byte, rest string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err == io.ErrUnexpectedEOF {
		return nil, "", errors.New("value has no end")
	} else if err != nil {
		return nil, "", err
	}
	behind := text[d.InputOffset():]
	rest = strings.TrimLeft(behind, " \t")
	if rest != "" && rest == behind {
		return nil, "", fmt.Errorf("a blank is missing before %.20q", rest)
	}
	return raw, rest, nil
}

// encode is JSON without the escapes that only HTML needs.
func encode(value any) []byte {
	line, _ := jsonl.Marshal(value) // strings and raw messages that were valid always encode
	return bytes.TrimSuffix(line, []byte("\n"))
}
