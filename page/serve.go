package page

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxConnections bounds how many browsers are connected; further ones wait.
const maxConnections = 512

// Serve answers what comes over l, until ctx ends. Pages that are being followed end with it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
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

// limited accepts so many connections at once.
type limited struct {
	net.Listener
	free chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, done: sync.OnceFunc(func() { <-l.free })}, nil
}

// counted makes room for another when it is closed.
type counted struct {
	net.Conn
	done func()
}

func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}
