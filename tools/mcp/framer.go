package mcp

import (
	"bytes"
	"encoding/json"

	"rouse/internal/text"
)

// patience is how many times the size of a message a server may write without a
// line break before it is ended.
const patience = 8

// messages are the messages of a line: mostly one; several in a batch, as the
// protocol once had them; none in an empty line.
func messages(line []byte) [][]byte {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	var batch []json.RawMessage
	if line[0] != '[' || json.Unmarshal(line, &batch) != nil {
		return [][]byte{line}
	}
	var list [][]byte
	for _, m := range batch {
		list = append(list, m)
	}
	return list
}

// tailSize is how much of a server's standard error is kept, in bytes.
const tailSize = 4 << 10

// said is what the server said last, in one line to be put after a message.
func (p *pipes) said() string {
	said := text.Words(p.stderr.String())
	if said == "" {
		return ""
	}
	return "; it said: " + text.Tail(said, 500)
}
