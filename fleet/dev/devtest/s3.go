package devtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rouse/fleet/dev"
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
	at := "127.0.0.1:" + dev.FreePort()
	serves, err := dev.Serve(t.Context(), at, program, "--quiet", "--access", Key, "--secret", Secret, "--port", at, "posix", "--nometa", filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(serves.Kill)
	return "http://" + at + "/homes", dir
}
