package agent

import (
	"cmp"
	"maps"
	"slices"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
)

// variables puts down which variables notebooks have, where a cycle used one.
func (k *Keeper) variables(c *record) {
	if !c.cells || k.Variables == nil {
		return
	}
	all := map[string][]string{}
	for notebook, names := range k.Variables() {
		for _, name := range names {
			all[notebook] = append(all[notebook], k.Redact.String(name))
		}
	}
	// A journal that cannot be written is reported when the end is.
	_ = c.journal.Append(&journal.Variables{Notebooks: all})
}

// Names says which variables of a notebook came and went.
type Names struct {
	Notebook string   `json:"notebook"`
	Added    []string `json:"added"`
	Removed  []string `json:"removed"`
}

// Variables says which variables of notebooks came and went from before one cycle to
// after another, by name, as far as the newest journals before each tell.
func Variables(h home.Home, from, to string) (list []Names, err error) {
	if !disk.Exists(h.Notebooks()) {
		return nil, nil
	}
	ids, err := h.Cycles(0)
	if err != nil {
		return nil, err
	}
	was := variablesAt(h, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id >= from }))
	is := variablesAt(h, slices.DeleteFunc(ids, func(id string) bool { return id > to }))
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, notebook := range slices.Sorted(maps.Keys(all)) {
		n := Names{notebook, without(is[notebook], was[notebook]), without(was[notebook], is[notebook])}
		if len(n.Added)+len(n.Removed) > 0 {
			list = append(list, n)
		}
	}
	return list, nil
}

func without(names, others []string) []string {
	return slices.DeleteFunc(append([]string{}, names...), func(name string) bool { return slices.Contains(others, name) })
}

// variablesAt are those of the newest of some cycles that says which there are.
func variablesAt(h home.Home, ids []string) map[string][]string {
	var found *journal.Variables
	for _, id := range ids[:min(lookBackNight, len(ids))] {
		for e, err := range journal.Read(h.Journal(id)) {
			if d, ok := e.Data.(*journal.Variables); ok && err == nil {
				found = d
			}
		}
		if found != nil {
			break
		}
	}
	return cmp.Or(found, &journal.Variables{Notebooks: map[string][]string{}}).Notebooks
}
