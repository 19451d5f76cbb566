// Package lazy makes values when they are first used. A program that is started
// every few minutes pays for what it uses, not for what it could.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is an expression that is compiled when it is first asked for. A literal of it
// is data: a package that declares one needs no code at the start of the program, and
// none of that package's code is read for it.
type Regexp struct {
	Expr string

	once     sync.Once
	compiled *regexp.Regexp
}

// Get is the expression, compiled. It panics, as [regexp.MustCompile] does, if there
// is a mistake in it.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.Expr) })
	return r.compiled
}
