package proc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnviron(t *testing.T) {
	got := Environ([]string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_TIME=de", "TZ=UTC", "TMPDIR=/t", "USER=u",
		"TERM=xterm", "OPENAI_API_KEY=a", "AWS_SECRET_ACCESS_KEY=b", "DS_X=c", "LCX=d", "path=/x",
		"SSH_AUTH_SOCK=/s", "LD_PRELOAD=/l", "PYTHONPATH=/p", "BASH_ENV=/b", "ENV=/e", "", "=x", "HOME",
		"HTTPS_PROXY=http://proxy:1", "http_proxy=http://u:p@proxy:1", "NO_PROXY=localhost",
		"NODE_EXTRA_CA_CERTS=/c", "PIP_CERT=/c", "REQUESTS_CA_BUNDLE=/c", "GIT_SSL_CAINFO=/c", "SSL_CERT_DIR=/c",
		"PIP_INDEX_URL=https://pypi.example/simple", "PIP_EXTRA_INDEX_URL=https://u:p@pypi.example/simple", "UV_INDEX_URL=https://pypi.example/?token=a",
		"npm_config_registry=https://npm.example/", "NPM_CONFIG_REGISTRY=https://u@npm.example/", "NPM_TOKEN=a", "npm_config__auth=a", "PIP_CONFIG_FILE=/c",
	}, "EXTRA=1")
	want := []string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_TIME=de", "TZ=UTC", "TMPDIR=/t", "USER=u",
		"HTTPS_PROXY=http://proxy:1", "NO_PROXY=localhost",
		"NODE_EXTRA_CA_CERTS=/c", "PIP_CERT=/c", "REQUESTS_CA_BUNDLE=/c", "GIT_SSL_CAINFO=/c", "SSL_CERT_DIR=/c",
		"PIP_INDEX_URL=https://pypi.example/simple", "npm_config_registry=https://npm.example/", "TERM=dumb", "EXTRA=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
