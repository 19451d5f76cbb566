package devtest

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Key and Secret are those of a [Bucket].
const Key, Secret = "fleet-key", "fleet-secret"

// Gateway is a program that serves buckets, $ROUSE_FLEET_S3GW or versitygw in PATH, "" for none.
func Gateway() string {
	if program := os.Getenv("ROUSE_FLEET_S3GW"); program != "" {
		return program
	}
	program, _ := exec.LookPath("versitygw")
	return program
}

// Bucket is the URL of a new bucket, "" where there is no [Gateway]; and the folder in which
// its objects are files.
func Bucket(t testing.TB) (url, dir string) {
	t.Helper()
	program := Gateway()
	if program == "" {
		return "", ""
	}
	dir = filepath.Join(t.TempDir(), "homes")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 5 { // somebody may take the port first
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := l.Addr().String()
		l.Close()
		c := exec.Command(program, "--quiet", "--access", Key, "--secret", Secret, "--port", at, "posix", "--nometa", filepath.Dir(dir))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		t.Cleanup(func() { _ = c.Process.Kill() })
		if answers(at, ended) {
			return "http://" + at + "/homes", dir
		}
	}
	t.Fatal("versitygw does not start")
	return "", ""
}

// answers waits until a server does, or ended.
func answers(at string, ended <-chan error) bool {
	for range 600 {
		if r, err := http.Get("http://" + at); err == nil {
			r.Body.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	return false
}
