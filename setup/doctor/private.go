package doctor

import (
	"fmt"
	"strings"

	"rouse/home"
	"rouse/setup"
)

// checkPrivate says what other users of the machine can get at. That fails
// nothing: homes made before were like that.
func checkPrivate(h home.Home) setup.Check {
	c := setup.Check{Check: "private", OK: true, Found: "closed to other users of this machine"}
	paths, err := h.Exposed()
	switch {
	case err != nil:
		c.OK, c.Found = false, err.Error()
	case len(paths) > 0:
		c.Found = "open to other users of this machine: " + pathsOf(h, paths)
		c.Hint = "mend it with: rouse doctor --mend"
	}
	return c
}

// Mend closes the home to other users, and examines it then.
func (d Doctor) Mend(h home.Home) []setup.Check {
	paths, err := h.Exposed()
	if err == nil {
		paths, err = home.Protect(paths)
	}
	c := setup.Check{Check: "mended", OK: err == nil, Found: "nothing was open to other users of this machine"}
	if len(paths) > 0 {
		c.Found = "closed to other users of this machine: " + pathsOf(h, paths)
	}
	if err != nil {
		c.Hint = err.Error()
	}
	return append([]setup.Check{c}, d.Examine(h)...)
}

// pathsOf names paths of the home.
func pathsOf(h home.Home, paths []string) string {
	var names []string
	for _, path := range paths {
		name := h.Rel(path)
		if name == "." {
			name = "the home itself"
		}
		names = append(names, name)
	}
	return firstOf(names, ", ")
}

// firstOf names the first five.
func firstOf(names []string, between string) string {
	list := strings.Join(names[:min(5, len(names))], between)
	if more := len(names) - 5; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
