package sandbox

import (
	"os"
	"strings"
)

// environ is an environment whose programs use the policy's folders for what is
// temporary and what can be had again; temp is the name of the first inside.
func (p Policy) environ(env []string, temp string) []string {
	set := map[string]string{}
	if p.Temp != "" {
		set["TMPDIR"] = temp
	}
	if p.Cache != "" { // of Go, pip and most others; npm has its own
		set["XDG_CACHE_HOME"], set["npm_config_cache"] = p.Cache, p.Cache+"/npm"
		if modules := goModules(env); modules != "" && !p.Writes(modules) {
			if _, err := os.Stat(modules); err != nil { // else what is there is read
				set["GOMODCACHE"] = p.Cache + "/go-mod"
			}
		}
	}
	var made []string
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); set[name] == "" {
			made = append(made, e)
		}
	}
	for _, name := range []string{"TMPDIR", "XDG_CACHE_HOME", "npm_config_cache", "GOMODCACHE"} {
		if set[name] != "" {
			made = append(made, name+"="+set[name])
		}
	}
	return made
}

// goModules is where Go keeps modules unless it is told, "" where it is.
func goModules(env []string) (dir string) {
	for _, e := range env {
		switch name, value, _ := strings.Cut(e, "="); name {
		case "GOPATH", "GOMODCACHE":
			return ""
		case "HOME":
			dir = value + "/go/pkg/mod"
		}
	}
	return dir
}

// makeFolders makes those that the policy lends.
func (p Policy) makeFolders() error {
	for _, dir := range []string{p.Temp, p.Cache} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}
