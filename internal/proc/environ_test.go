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
	}, "EXTRA=1")
	want := []string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_TIME=de", "TZ=UTC", "TMPDIR=/t", "USER=u",
		"HTTPS_PROXY=http://proxy:1", "NO_PROXY=localhost", "TERM=dumb", "EXTRA=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
