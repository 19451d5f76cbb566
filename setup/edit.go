package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"rouse/home"
	"rouse/internal/disk"
)

// editable is how large a memory is edited in a form, in bytes.
const editable = 1 << 20

// MemoryText is the memory as a person edits it, and the hash that [Setup.EditMemory] wants.
// That of a home without one is what its first cycle would find.
func (s *Setup) MemoryText() (text []byte, hash string, err error) {
	if hash, err = s.Home.Hash(); err == nil {
		text, err = disk.ReadSmall(s.Home.Active(), editable)
	}
	if errors.Is(err, fs.ErrNotExist) {
		state, _, failed := s.Home.Load()
		if failed != nil {
			return nil, "", failed
		}
		text, err = state.Bytes()
	}
	if err == nil && s.Hidden().String(string(text)) != string(text) {
		err = errors.New("it holds a secret that is not shown here")
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w; edit the file itself", s.Home.Rel(s.Home.Active()), err)
	}
	return text, hash, nil
}

// EditMemory saves what a person made of the memory, unless it is another now: see
// the Edit of the agent's keeper. While a cycle is awake whose tools could have written it, it fails
// with [home.ErrAwake]: nobody could tell later whose edit it was.
func (s *Setup) EditMemory(text []byte, seen string) error {
	if len(text) > editable {
		return fmt.Errorf("the memory would have %d bytes, more than %d: edit the file itself", len(text), editable)
	}
	if !bytes.Equal([]byte(s.Hidden().String(string(text))), text) {
		return errors.New("it holds a secret of this home: put that into the vault, and name it")
	}
	if walls, err := s.Walls(); (err != nil || walls == nil || s.Unwalled() != nil) && disk.Holder(s.Home.Memory()) != 0 {
		return fmt.Errorf("%w, whose tools can write the memory, too: save when it sleeps", home.ErrAwake)
	}
	k := s.keeper(s.Hidden())
	return k.Edit(text, seen)
}
