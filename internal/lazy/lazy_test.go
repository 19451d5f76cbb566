package lazy

import "testing"

func TestRegexp(t *testing.T) {
	digits := Regexp(`^\d+$`)
	first := digits()
	if !first.MatchString("42") || digits() != first {
		t.Error("not compiled, or more than once")
	}
}
