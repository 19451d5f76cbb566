package dispatcher

import (
	"cmp"
	"slices"

	"rouse/internal/object"
	"rouse/tools"
)

// called is the call that one of call_tool stands for, with its note and its evidence: from
// here on nothing tells it from one that was made by the tool's name. What is wrong with one
// is said as of any call.
func (d *Dispatcher) called(a Action) Action {
	outer, err := object.Parse(a.Args)
	if a.Tool != tools.CallName || err != nil || outer.String("name") == "" || !slices.ContainsFunc(d.Tools.All(), func(t tools.Tool) bool { return t.Hidden }) {
		return a
	}
	given := Action{Unread: a.Unread, Tool: outer.String("name")}
	if decodeArgs([]byte(cmp.Or(string(outer.Get("args")), "{}")), &given) != nil {
		return a
	}
	inner, _ := object.Parse(given.Args) // it is one
	t, _ := d.Find(given.Tool)
	own, _ := object.Parse(t.Parameters()) // none has none
	for _, key := range []string{tools.NoteParam, evidenceParam} {
		has := key == tools.NoteParam && t.HasOwnNote() || key == evidenceParam && own != nil && own.Sub("properties").Get(key) != nil
		if beside := outer.Get(key); beside != nil && inner.Get(key) == nil && !has {
			inner.Set(key, beside)
		}
	}
	given.Args = inner.JSON()
	return given
}
