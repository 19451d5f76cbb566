package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rouse/internal/redact"
	"rouse/tools"
)

// What an answer makes of an error, and a body at its limit, are cut where a secret
// stands: nothing of it is left.
func TestSecretAtACut(t *testing.T) {
	const secret = "canary-0123456789-abcdefgh"
	hide := redact.New(map[string]string{"SHOP_TOKEN": secret})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/location":
			w.Header().Set("Location", `\`+strings.Repeat("x", 85)+secret)
			w.WriteHeader(http.StatusFound)
		case "/host":
			w.Header().Set("Location", "http://"+strings.Repeat("x", 85)+secret+"_é/")
			w.WriteHeader(http.StatusFound)
		case "/body":
			w.Write([]byte(strings.Repeat("x", 490) + secret))
		}
	}))
	defer server.Close()
	tool := Get(Options{Allow: []string{strings.TrimPrefix(server.URL, "http://")}, MaxBytes: 500, Redact: hide})
	for _, path := range []string{"/location", "/host", "/body"} {
		var out bytes.Buffer
		w := hide.Writer(&out)
		r := tool.Run(t.Context(), tools.Call{Args: []byte(`{"url":"` + server.URL + path + `"}`), Output: w})
		w.Close()
		if said := r.Error + out.String(); strings.Contains(said, secret[:6]) || !strings.Contains(said, "xxx") {
			t.Errorf("%s: %s", path, said)
		}
	}
}
