package agent

import "rouse/scratchpad"

// Edit saves the memory as a person wrote it, if the file still has the hash that it had
// when they read it, and fails with [ErrEdited] else. It is as an edit by hand: a cycle that is
// awake merges it, and the next one names what was changed.
func (k *Keeper) Edit(text []byte, seen string) error {
	s, err := scratchpad.Parse(k.memory(), text)
	if err != nil {
		return err
	}
	return s.Save(unlessEdited{k.disk(), k.Home, seen}, k.Home.Active(), k.now())
}
