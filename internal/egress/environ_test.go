package egress

import (
	"slices"
	"strings"
	"testing"
)

func TestEnviron(t *testing.T) {
	own := []string{"PATH=/bin", "http_proxy=http://me:word@up:1", "HTTPS_PROXY=x", "No_Proxy=*", "npm_config_noproxy=*", "PIP_PROXY=x", "FTP_PROXY=x", "GOPROXY=off", "PROXY=1"}
	for host, direct := range map[string]string{
		"pypi.org": "localhost,127.0.0.1,::1", "localhost:8080": "127.0.0.1,::1", "127.0.0.1": "localhost,::1", "[::1]:81": "localhost,127.0.0.1", "*.a.localhost": "localhost,127.0.0.1,::1",
	} {
		g, err := New([]string{host})
		if err != nil {
			t.Fatal(err)
		}
		env := g.Environ(own, "127.0.0.1:3128")
		slices.Sort(env)
		want := strings.Fields(strings.NewReplacer("@", "http://127.0.0.1:3128", "DIRECT", direct).Replace(
			"ALL_PROXY=@ GOPROXY=off HTTPS_PROXY=@ HTTP_PROXY=@ NODE_USE_ENV_PROXY=1 NO_PROXY=DIRECT PATH=/bin PROXY=1 all_proxy=@ http_proxy=@ https_proxy=@ no_proxy=DIRECT " +
				"npm_config_https_proxy=@ npm_config_noproxy=DIRECT npm_config_proxy=@"))
		if !slices.Equal(env, want) {
			t.Errorf("%s: %q, want %q", host, env, want)
		}
	}
	if own[1] != "http_proxy=http://me:word@up:1" {
		t.Error("the environment of Rouse was changed")
	}
}
