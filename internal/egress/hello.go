package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
)

// unrecognized is the alert that ends TLS because of the name of the server.
const unrecognized = "\x15\x03\x03\x00\x02\x02\x70"

// isTLS says whether a first byte is one of TLS: the kind of a record.
func isTLS(first byte) bool { return first >= 0x14 && first <= 0x18 }

var errHello = errors.New("hello")

// serverName reads the first message of TLS. It gives the name of the server in it,
// which can be "", and the bytes that it has read.
func serverName(r io.Reader) (name string, hello []byte, err error) {
	var seen bytes.Buffer
	err = tls.Server(deaf{Reader: io.TeeReader(r, &seen)}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name = h.ServerName
			return nil, errHello
		},
	}).Handshake()
	if errors.Is(err, errHello) {
		err = nil
	}
	return name, seen.Bytes(), err
}

// deaf is a connection that only is read.
type deaf struct {
	net.Conn
	io.Reader
}

func (d deaf) Read(p []byte) (int, error)  { return d.Reader.Read(p) }
func (d deaf) Write(p []byte) (int, error) { return len(p), nil }
