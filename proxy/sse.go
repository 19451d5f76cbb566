package proxy

import (
	"bytes"
	"io"

	"rouse/internal/sse"
)

// withData is an event as it was, with other data.
func withData(e sse.Event, data []byte) []byte {
	if bytes.Equal(data, e.Data) {
		return e.Raw
	}
	var text []byte
	for line := range bytes.Lines(e.Raw) {
		if name, _ := sse.Field(line); name != "data" && len(bytes.TrimRight(line, "\r\n")) > 0 {
			text = append(text, line...)
		}
	}
	return append(text, dataEvent(data)...)
}

// dataEvent is an event that has data only.
func dataEvent(data []byte) []byte {
	return append(append([]byte("data: "), line(bytes.Clone(data))...), '\n')
}

// body reads what comes in one piece.
func (p *Proxy) body(r io.ReadCloser) ([]byte, error) {
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r, p.MaxMessage+1))
	if err == nil && int64(len(body)) > p.MaxMessage {
		err = sse.ErrTooLarge
	}
	return body, err
}

func (p *Proxy) events(r io.Reader) *sse.Reader { return sse.NewReader(r, p.MaxMessage) }
