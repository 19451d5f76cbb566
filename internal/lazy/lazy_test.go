package lazy

import "testing"

func TestRegexp(t *testing.T) {
	digits := Regexp(`^\d+$`)
	if !digits().MatchString("42") || digits() != digits() {
		t.Error("not compiled, or more than once")
	}
}
