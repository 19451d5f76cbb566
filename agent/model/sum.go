package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Hash is a SHA-256 of the messages and the tools of a request, in which a picture
// counts by its own.
func (r Request) Hash() string {
	h := sha256.New()
	b := bufio.NewWriterSize(h, 1<<10) // so that no text is copied whole
	part := func(texts ...string) {
		for _, t := range texts {
			// Neither fails, as a hash takes everything.
			_, _ = b.Write(append(strconv.AppendInt(b.AvailableBuffer(), int64(len(t)), 10), ' '))
			_, _ = b.WriteString(t)
		}
	}
	for _, m := range r.Messages {
		part("message", m.Role, m.Content, m.Call)
		for _, c := range m.Calls {
			part("call", c.ID, c.Name, string(c.Args))
		}
		if len(m.Kept) > 0 {
			part("kept", string(m.Kept))
		}
		for _, i := range m.Images {
			part("image", i.Type, i.Hash())
		}
	}
	for _, t := range r.Tools {
		part("tool", t.Name, t.Description, string(t.Parameters))
	}
	_ = b.Flush()
	return hex.EncodeToString(h.Sum(nil))
}

// Hash is the SHA-256 of a picture, also where its data are gone.
func (i Image) Hash() string {
	if i.Sum != "" {
		return i.Sum
	}
	sum := sha256.Sum256(i.Data)
	return hex.EncodeToString(sum[:])
}
