package dispatcher

import (
	"rouse/internal/object"
	"rouse/tools"
)

// called is the call that one of call_tool stands for, with its note and its evidence: from
// here on nothing tells it from one that was made by the tool's name.
func (d *Dispatcher) called(a Action) Action {
	if a.Tool != tools.CallName || !d.Tools.Hides() {
		return a
	}
	name, inner, outer := tools.Called(a.Args)
	if name == "" {
		return a // what is wrong with it is said as of any call
	}
	t, _ := d.Find(name)
	own, err := object.Parse(t.Parameters())
	for _, key := range []string{tools.NoteParam, evidenceParam} {
		beside := outer.Get(key)
		if key == tools.NoteParam && t.HasOwnNote() || key == evidenceParam && err == nil && own.Sub("properties").Get(key) != nil {
			continue
		}
		if beside != nil && inner.Get(key) == nil {
			inner.Set(key, beside)
		}
	}
	a.Tool, a.Args = name, inner.JSON()
	return a
}
