package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"rouse/internal/netguard"
)

// Webhook is a sink that posts events, as JSON, to an address.
type Webhook struct {
	URL       string `yaml:"url"`
	SecretEnv string `yaml:"secret_env"` // the variable whose value signs them, "" for none
}

// sendTime bounds what is sent over the network once.
const sendTime = 30 * time.Second

// host is all of the address that may be shown, "" without one.
func (w *Webhook) host() string {
	if w == nil {
		return ""
	}
	if u, err := url.Parse(w.URL); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return u.Host
	}
	return ""
}

// permanent is a failure that another attempt would not mend.
type permanent struct{ error }

// post sends an event. Its id is the same each time.
func (n *Notifier) post(ctx context.Context, w *Webhook, id string, event []byte) error {
	status, err := n.call(ctx, http.MethodPost, w, id, event)
	if err != nil || status < 300 {
		return err
	}
	err = fmt.Errorf("%s answers %d %s", w.host(), status, http.StatusText(status))
	switch {
	case status < 400:
		return permanent{fmt.Errorf("%w, and points elsewhere: write that address", err)}
	case status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooEarly && status != http.StatusTooManyRequests:
		return permanent{fmt.Errorf("%w; check url and secret_env", err)}
	}
	return err
}

// call asks the address, with a signature over the time and what is sent.
func (n *Notifier) call(ctx context.Context, method string, w *Webhook, id string, event []byte) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.URL, bytes.NewReader(event))
	if err != nil {
		return 0, errors.New("webhook: url is no address") // which may hold a password
	}
	at := strconv.FormatInt(n.now().Unix(), 10)
	for name, value := range map[string]string{"Content-Type": "application/json", "User-Agent": "rouse", "X-Rouse-Id": id, "X-Rouse-Timestamp": at} {
		req.Header.Set(name, value)
	}
	if w.SecretEnv != "" {
		secret, err := n.secret(w.SecretEnv)
		if err != nil {
			return 0, err
		}
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%s.%s", at, event)
		req.Header.Set("X-Rouse-Signature", fmt.Sprintf("sha256=%x", mac.Sum(nil)))
	}
	status, err = ask(req, &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, DialContext: n.guard().Dial, TLSClientConfig: &tls.Config{RootCAs: n.Roots},
	})
	if err != nil {
		return 0, fmt.Errorf("%s cannot be reached: %w; check url", w.host(), err)
	}
	return status, nil
}

// ask sends a request and gives the status of the answer. Redirects are not followed, and
// an error names nothing of the address.
func ask(req *http.Request, t *http.Transport) (status int, err error) {
	client := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the text around it repeats the URL
	}
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // what it says does not matter
	return resp.StatusCode, nil
}

// Try says why a sink would not take what it is sent, as far as can be seen without
// sending it anything. Of commands and files it knows nothing.
func (n *Notifier) Try(ctx context.Context, s Sink) (err error) {
	if s.Webhook != nil {
		_, err = n.call(ctx, http.MethodOptions, s.Webhook, "", nil)
	} else if s.Mail != nil {
		err = n.converse(ctx, s.Mail, nil)
	}
	return err
}

// secret is the value of a variable.
func (n *Notifier) secret(name string) (string, error) {
	if value := n.Getenv(name); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("there is nothing in $%s: write %[1]s=… into .env, with mode 0600", name)
}

// guard lets through what the operator named, but for the metadata addresses of clouds.
func (n *Notifier) guard() *netguard.Guard {
	return &netguard.Guard{Named: func(string, string) bool { return true }, Mend: func(string, string) string { return "write the address in place of the name" }}
}
