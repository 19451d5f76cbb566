package setup

import (
	"fmt"

	"golang.org/x/sys/unix"

	"rouse/home"
)

// Check is what was found of one thing that a home needs. Its JSON is that of
// `rouse doctor`.
type Check struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Hint  string `json:"hint,omitempty"`
}

// lowSpace is the free space below which a cycle may not be able to save.
const lowSpace = 64 << 20

// CheckSpace looks at the disk that the home is on.
func CheckSpace(h home.Home) Check {
	var st unix.Statfs_t
	if err := unix.Statfs(h.Dir, &st); err != nil {
		return Check{Check: "disk", Found: err.Error()}
	}
	free := uint64(st.Bavail) * uint64(st.Bsize)
	c := Check{Check: "disk", OK: free >= lowSpace, Found: fmt.Sprintf("%d MiB free", free>>20)}
	if !c.OK {
		c.Hint = "free some space: a cycle needs it to save the memory"
	}
	return c
}
