package flow

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoClientCertificate asks one that wants a certificate, again and again: what it says of
// that comes before or after the connection has ended.
func TestNoClientCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.EnableHTTP2, s.TLS = true, &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", ca)
	for range 20 {
		c, err := Open(s.Listener.Addr().String(), "", "f", func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "certificate required") && !strings.Contains(err.Error(), "CLIENT_CERT_PATH") {
			t.Errorf("%v", err)
		}
		c.Close()
	}
}
