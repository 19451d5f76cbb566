package lazy

import "testing"

func TestRegexp(t *testing.T) {
	digits := Regexp{Expr: `^\d+$`}
	first := digits.Get()
	if !first.MatchString("42") || digits.Get() != first {
		t.Error("not compiled, or more than once")
	}
}
