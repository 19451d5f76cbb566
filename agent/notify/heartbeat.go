package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rouse/internal/clock"
	"rouse/internal/disk"
)

// pingTime bounds one ping.
const pingTime = 5 * time.Second

// Heartbeat is a sign of life for a watcher that raises the alarm where it stays
// away. Target is a URL or a file. The URL is asked with GET: with /start added
// when a cycle begins, with /fail when it ended badly, and as it is when it ended
// well, which is what healthchecks.io and others understand. The file is written
// when a cycle ended well, so that its age tells. An empty Target does nothing.
type Heartbeat struct {
	Target string
	Home   string           // which a file is relative to
	Disk   disk.FS          // nil is the machine's
	Now    func() time.Time // nil is time.Now
}

// Begin tells that a cycle begins, without waiting. The result, called once,
// tells how it ended and waits for both, at most ten seconds. Its error names no
// more of the URL than the host, for the rest may be secret; no ping fails a cycle.
func (h Heartbeat) Begin() (end func(ok bool) error) {
	switch {
	case h.Target == "":
		return func(bool) error { return nil }
	case !strings.Contains(h.Target, "://"):
		return h.touch
	}
	begun := make(chan error, 1)
	go func() { begun <- h.ping("start", "") }()
	return func(ok bool) error {
		first := <-begun
		suffix := ""
		if !ok {
			suffix = "fail"
		}
		if err := h.ping(suffix, ""); err != nil {
			return err
		}
		return first
	}
}

// Alive is the sign of life of a home that is well and has no cycle.
func (h Heartbeat) Alive() error {
	switch {
	case h.Target == "":
		return nil
	case !strings.Contains(h.Target, "://"):
		return h.touch(true)
	}
	return h.ping("", "")
}

// Failed tells that something is not well: that is the body of a POST to the URL with /fail.
func (h Heartbeat) Failed(why string) error {
	if !strings.Contains(h.Target, "://") {
		return nil // the file's age tells
	}
	return h.ping("fail", why)
}

// touch writes the time into the file if all is well. It is not synced: only the
// file's age matters.
func (h Heartbeat) touch(ok bool) error {
	if !ok {
		return nil
	}
	path, err := regular(h.Home, h.Target)
	if err == nil {
		err = disk.Overwrite(disk.Or(h.Disk), path, []byte(clock.Now(h.Now).Format(time.RFC3339)+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

// ping asks the URL, with POST where there is more to say. Redirects are not followed.
func (h Heartbeat) ping(suffix, body string) error {
	u, err := url.Parse(h.Target)
	if err != nil {
		return errors.New("heartbeat: not a URL")
	}
	host := u.Host
	if suffix != "" {
		u = u.JoinPath(suffix)
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingTime)
	defer cancel()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("heartbeat: not a URL for %s", host)
	}
	status, err := ask(req, &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true})
	if err != nil {
		return fmt.Errorf("heartbeat at %s: %v", host, err)
	}
	if status >= 300 {
		return fmt.Errorf("heartbeat at %s: %d %s", host, status, http.StatusText(status))
	}
	return nil
}
