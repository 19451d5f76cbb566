package store_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rouse/fleet/store"
)

// TestTLS comes to Postgres by a door that does TLS, with certificates that are and are not good.
func TestTLS(t *testing.T) {
	dsn, _ := migrated(t)
	own := httptest.NewTLSServer(nil) // for its certificate, of 127.0.0.1
	defer own.Close()
	ca := filepath.Join(t.TempDir(), "ca")
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate().Raw}), 0o600), "")
	u, err := url.Parse(dsn)
	must(t, err, "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err, "")
	defer l.Close()
	go door(l, own.TLS, filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"))
	for rest, says := range map[string]string{
		"sslmode=require":                       "",
		"sslmode=verify-full":                   "name the file of its authority in the DSN by sslrootcert=",
		"sslmode=verify-full&sslrootcert=" + ca: "",
		"sslmode=verify-full&sslrootcert=none":  "open none: no such file",
		"default_query_exec_mode=exec":          "leave it out",
	} {
		must(t, opens("127.0.0.1", l, u, rest), says)
	}
	must(t, opens("localhost", l, u, "sslmode=verify-full&sslrootcert="+ca), "not localhost")
}

func opens(host string, l net.Listener, u *url.URL, rest string) error {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s, err := store.Open(context.Background(), fmt.Sprintf("postgres://rouse@%s:%s%s?%s", host, port, u.Path, rest))
	if err == nil {
		s.Close()
	}
	return err
}

// door lets in who asks for TLS, as Postgres does.
func door(l net.Listener, set *tls.Config, socket string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			to, err := net.Dial("unix", socket)
			if err != nil {
				return
			}
			defer to.Close()
			_, _ = io.CopyN(io.Discard, c, 8) // it asks for TLS
			_, _ = c.Write([]byte("S"))
			inner := tls.Server(c, set)
			go func() { _, _ = io.Copy(inner, to) }()
			_, _ = io.Copy(to, inner)
		}()
	}
}

// TestPgbouncer listens through one that gives each session to one, and through one that does not.
func TestPgbouncer(t *testing.T) {
	dsn, _ := migrated(t)
	in := t.Context()
	for mode, says := range map[string]string{"session": "", "transaction": "set pool_mode = session"} {
		s := open(t, pooled(t, dsn, mode)+"&default_query_exec_mode=cache_describe") // else the first word is of a statement that is there twice
		ctx, end := context.WithTimeout(in, 20*time.Second)
		heard := false
		go func() {
			for ctx.Err() == nil && says == "" {
				_, _ = s.Order(ctx, "moon", []string{"run"}, nil)
				time.Sleep(20 * time.Millisecond)
			}
		}()
		err := s.Listen(ctx, func(string) { heard = true; end() })
		if end(); says != "" {
			must(t, err, says)
		} else if !heard {
			t.Fatalf("heard of nothing in session mode: %v", err)
		}
	}
}

// pooled is the DSN of a pgbouncer before that of a database.
func pooled(t *testing.T, dsn, mode string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if _, debian := os.Stat("/usr/sbin/pgbouncer"); err != nil && debian == nil {
		program, err = "/usr/sbin/pgbouncer", nil
	}
	if err != nil {
		t.Skip("no pgbouncer is installed")
	}
	dir, err := os.MkdirTemp("/tmp", "rf")
	must(t, err, "")
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	host := strings.SplitN(dsn, "host=", 2)[1]
	must(t, os.WriteFile(filepath.Join(dir, "ini"), fmt.Appendf(nil, "[databases]\n* = host=%s user=rouse\n[pgbouncer]\nauth_type = any\npool_mode = %s\nunix_socket_dir = %s\n", host, mode, dir), 0o644), "")
	c := exec.Command("sh", "-c", `chmod 755 "$1"; [ "$(id -u)" != 0 ] || { chown postgres "$1"; as="setpriv --reuid=postgres --regid=$(id -g postgres) --clear-groups --"; }
exec $as "$2" -q "$1/ini"`, "sh", dir, program)
	must(t, c.Start(), "")
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if s, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.6432")); err == nil {
			_ = s.Close()
			return strings.SplitN(dsn, "?", 2)[0] + "?port=6432&host=" + dir
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
