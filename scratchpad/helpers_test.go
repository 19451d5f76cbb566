package scratchpad

import (
	"encoding/json"
	"testing"

	"rouse/internal/disk/disktest"
)

func TestMain(m *testing.M) { disktest.Main(m) }

func num(s string) json.Number { return json.Number(s) }

func mustParse(t testing.TB, in string) *State {
	t.Helper()
	s, err := Parse("active.yaml", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustApply(t testing.TB, s *State, changes ...Change) {
	t.Helper()
	if err := s.Apply(changes...); err != nil {
		t.Fatal(err)
	}
}

func mustBytes(t testing.TB, s *State) string {
	t.Helper()
	b, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
