package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"rouse/internal/sse"
)

// Encode makes the text of an event that begins at offset at of its stream.
func Encode(at int64, name string, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	// The id has a fixed length, so that the event's is known before it is.
	const form = "event: %s\nid: %016d\ndata: %s\n\n"
	size := len(form) - len("%s%016d%s") + len(name) + 16 + len(data)
	return fmt.Appendf(make([]byte, 0, size), form, name, at+int64(size), data), nil
}

// Next is where the stream goes on after an event.
func Next(e sse.Event) (int64, error) {
	at, err := strconv.ParseInt(e.ID, 10, 64)
	if err != nil {
		return 0, errors.New("an event with a bad id")
	}
	return at, nil
}
