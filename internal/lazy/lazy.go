// Package lazy makes values when they are first used. A program that is started
// every few minutes pays for what it uses, not for what it could.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles an expression when it is first asked for. It panics then, as
// [regexp.MustCompile] does, if there is a mistake in it.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
