package egress

import (
	"slices"
	"strings"
)

// Environ is env with what makes programs use the proxy at an address, and without
// what pointed them to another one. Servers inside are still reached directly, on
// loopback, but for the addresses of it that are listed.
func (g *Gate) Environ(env []string, address string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(strings.ToLower(v), "=")
		return strings.HasSuffix(name, "_proxy") || strings.HasSuffix(name, "_noproxy")
	})
	proxy, direct := "http://"+address, strings.Join(g.inside(), ",")
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} { // curl, git and apt read the first in small letters alone
		env = append(env, name+"="+proxy, strings.ToUpper(name)+"="+proxy)
	}
	return append(env, "no_proxy="+direct, "NO_PROXY="+direct,
		"npm_config_proxy="+proxy, "npm_config_https_proxy="+proxy, "npm_config_noproxy="+direct, // beat its configuration
		"NODE_USE_ENV_PROXY=1")
}

// inside are the names of loopback that mean the sandbox's own.
func (g *Gate) inside() []string {
	return slices.DeleteFunc([]string{"localhost", "127.0.0.1", "::1"}, func(host string) bool {
		for e := range g.hosts {
			if e == host || strings.HasPrefix(e, host+":") || strings.HasPrefix(e, "["+host+"]:") {
				return true
			}
		}
		return false
	})
}
