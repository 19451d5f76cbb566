package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A webhook gets events with a signature that it can check; what it answers decides whether
// it is asked again.
func TestWebhook(t *testing.T) {
	type request struct{ body, id, signed string }
	var got []request
	var status int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte("the-secret"))
		fmt.Fprintf(mac, "%s.%s", r.Header.Get("X-Rouse-Timestamp"), body)
		signed := map[bool]string{true: "signed"}[r.Header.Get("X-Rouse-Signature") == fmt.Sprintf("sha256=%x", mac.Sum(nil))]
		got = append(got, request{r.Method + " " + string(body), r.Header.Get("X-Rouse-ID"), signed})
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	defer s.Close()
	for _, tt := range []struct {
		status int
		want   string // what the delivery comes to
	}{
		{204, "sent "},
		{503, "to send HOST answers 503 Service Unavailable"},
		{429, "to send HOST answers 429 Too Many Requests"},
		{410, "given up HOST answers 410 Gone; check url and secret_env"},
		{401, "given up HOST answers 401 Unauthorized; check url and secret_env"},
		{302, "given up HOST answers 302 Found, and points elsewhere: write that address"},
	} {
		r := newRig(t, Sink{Webhook: &Webhook{URL: s.URL + "/in?key=hidden", SecretEnv: "SECRET"}})
		r.Getenv = func(name string) string { return map[string]string{"SECRET": "the-secret"}[name] }
		got, status = nil, tt.status
		r.must(r.Try(t.Context(), r.Sinks[0]))
		r.must(r.Tell(t.Context(), Missed, "1", "a slot was missed"))
		r.must(r.Deliver(t.Context()))
		list, err := r.Recent()
		r.must(err)
		d, id := list[0].Deliveries[0], list[0].Event.ID
		if is := d.Status + " " + strings.ReplaceAll(d.Error, s.Listener.Addr().String(), "HOST"); is != tt.want || d.Sink != "webhook "+s.Listener.Addr().String() {
			t.Errorf("%d: %s %s, want %s", tt.status, d.Sink, is, tt.want)
		}
		if len(got) != 2 || got[0].body != "OPTIONS " || got[1].id != id || got[1].signed == "" || !strings.HasPrefix(got[1].body, `POST {"id":"`+id+`","kind":"missed"`) {
			t.Errorf("%d: %q", tt.status, got)
		}
	}
	r := newRig(t)
	r.Getenv = func(string) string { return "" }
	for _, tt := range []struct {
		hook Webhook
		want string
	}{
		{Webhook{URL: s.URL, SecretEnv: "NONE"}, "there is nothing in $NONE: write NONE=… into .env"},
		{Webhook{URL: "http://127.0.0.1:1/hidden"}, "127.0.0.1:1 cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused; check url"},
		{Webhook{URL: strings.Replace(s.URL, "http", "https", 1)}, "cannot be reached: http: server gave HTTP response to HTTPS client; check url"},
	} {
		if err := r.Try(t.Context(), Sink{Webhook: &tt.hook}); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}
