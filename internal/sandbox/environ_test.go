package sandbox

import (
	"os"
	"slices"
	"testing"
)

// Go keeps modules in the cache, unless the user has some or says where.
func TestModulesOfGo(t *testing.T) {
	person := t.TempDir()
	modules := person + "/go/pkg/mod"
	kept := func(write []string, more ...string) bool {
		env := Policy{Write: write, Cache: "/cache"}.environ(append(more, "HOME="+person), "")
		return slices.Contains(env, "GOMODCACHE=/cache/go-mod")
	}
	if !kept(nil) || kept([]string{person}) || kept(nil, "GOPATH=/x") || kept(nil, "GOMODCACHE=/x") {
		t.Error("without modules")
	}
	if err := os.MkdirAll(modules, 0o700); err != nil {
		t.Fatal(err)
	}
	if kept(nil) {
		t.Error("the user's modules are not read")
	}
}
