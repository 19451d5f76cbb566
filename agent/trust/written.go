package trust

import (
	"rouse/home"
	"rouse/internal/disk"
	"rouse/journal"
)

// Written says whether a verb left a file so, at a person's word: nobody needs to
// be told of that.
func (k Known) Written(name, sum string) bool {
	return sum != "" && k.accepted.Written[name] == sum
}

// Write puts down that a verb left a file so. That counts for what a cycle finds
// when it wakes: in a cycle a tool can call the verb, too.
func Write(h home.Home, f disk.FS, name, sum string) error {
	return Accept(h, f, func(t *journal.Trust) { t.Written = map[string]string{name: sum} })
}
