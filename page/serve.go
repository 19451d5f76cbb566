package page

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"rouse/agent/config"
)

// maxConnections bounds how many browsers are connected.
const maxConnections = 512

// Run serves homes where and to whom the settings say, until ctx ends, and says how to get in.
func Run(ctx context.Context, o Options, set config.Serve, getenv func(string) string) error {
	o.Tokens = map[Role]string{Act: getenv(set.TokenEnv), View: getenv(set.ViewTokenEnv)}
	maps.DeleteFunc(o.Tokens, func(_ Role, token string) bool { return token == "" })
	if set.BehindProxy != "" {
		o.Hosts, o.Secure = []string{set.BehindProxy}, true
	}
	l, err := net.Listen("tcp", set.Listen)
	if err != nil {
		return fmt.Errorf("serve: %w; --listen names another address", err)
	}
	defer l.Close()
	s := New(o)
	if set.BehindProxy == "" {
		o.Say(fmt.Sprintf("serving at http://%s\nlog in once with: http://%[1]s%s", l.Addr(), s.Link(Act)))
	} else {
		o.Say(fmt.Sprintf("serving %s at %s", set.BehindProxy, l.Addr()))
	}
	return s.Serve(ctx, l)
}

// Serve answers what comes over l, until ctx ends. Pages that are being followed end with it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{
		Handler: answering(s.Handler()), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) },
	}
	go s.keep(ctx)
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(&limited{Listener: l, free: make(chan struct{}, maxConnections)}) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if web.Shutdown(closing) != nil {
		_ = web.Close() // what is still sent is lost
	}
	return nil
}

// limited accepts so many connections at once. For one more that one goes which waits
// longest for its next request, or sends it slowest.
type limited struct {
	net.Listener
	free chan struct{}

	mu      sync.Mutex
	waiting []*counted // of which no request is being answered, the longest first
}

func (l *limited) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &counted{Conn: c, of: l}
	one.done = sync.OnceFunc(func() { l.waits(one, false); <-l.free })
	select {
	case l.free <- struct{}{}:
	default:
		l.drop()
		l.free <- struct{}{}
	}
	l.waits(one, true)
	return one, nil
}

// drop closes the connection that waits longest.
func (l *limited) drop() {
	l.mu.Lock()
	var longest *counted
	if len(l.waiting) > 0 {
		longest = l.waiting[0]
	}
	l.mu.Unlock()
	if longest != nil {
		_ = longest.Close() // nobody has asked for anything there
	}
}

// waits says whether a connection waits from now on.
func (l *limited) waits(c *counted, yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(w *counted) bool { return w == c })
	if yes {
		l.waiting = append(l.waiting, c)
	}
}

// answering keeps the connection of a request while that is answered.
func answering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(connection{}).(*counted)
		c.of.waits(c, false)
		defer c.of.waits(c, true)
		next.ServeHTTP(w, r)
	})
}

// connection is the key of a request's connection in its context.
type connection struct{}

// writeTime is how long who reads may take for one part of an answer.
const writeTime = 30 * time.Second

// counted makes room for another when it is closed.
type counted struct {
	net.Conn
	of   *limited
	done func()
}

// Write gives up on who does not read.
func (c *counted) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}
