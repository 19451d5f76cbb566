package netguardtest

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// NameServer answers on loopback whatever its zone says: a name has lists of
// addresses, one list a look-up (the last one stays), or "=name" for an alias.
type NameServer struct {
	addr string
	mu   sync.Mutex
	zone map[string][][]string
	asks map[string]int // by name and type
}

// NewNameServer starts one that ends with the test.
func NewNameServer(t testing.TB) *NameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &NameServer{addr: conn.LocalAddr().String(), zone: map[string][][]string{}, asks: map[string]int{}}
	go s.serve(conn)
	return s
}

// Set gives a name its answers.
func (s *NameServer) Set(name string, answers ...[]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zone[name] = answers
}

// Resolver asks nobody else.
func (s *NameServer) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.addr)
	}}
}

func (s *NameServer) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := s.reply(buf[:n]); reply != nil {
			conn.WriteTo(reply, from)
		}
	}
}

// reply answers one question (RFC 1035, section 4).
func (s *NameServer) reply(ask []byte) []byte {
	if len(ask) < 12 {
		return nil
	}
	var labels []string
	i := 12
	for i < len(ask) && ask[i] > 0 && i+1+int(ask[i]) < len(ask) {
		labels = append(labels, string(ask[i+1:i+1+int(ask[i])]))
		i += 1 + int(ask[i])
	}
	if i+5 > len(ask) {
		return nil
	}
	name, kind := strings.ToLower(strings.Join(labels, ".")), binary.BigEndian.Uint16(ask[i+1:])
	records, known := s.records(name, kind)
	head := []byte{ask[0], ask[1], 0x81, 0x80, 0, 1, 0, byte(len(records)), 0, 0, 0, 0}
	if !known {
		head[3] |= 3 // no such name
	}
	out := append(head, ask[12:i+5]...)
	for _, r := range records {
		out = append(out, r...)
	}
	return out
}

func (s *NameServer) records(name string, kind uint16) (out [][]byte, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 10 {
		answers := s.zone[name]
		if len(answers) == 0 {
			return out, len(out) > 0
		}
		key := name + "/" + string(rune('a'+kind))
		answer := answers[min(s.asks[key], len(answers)-1)]
		s.asks[key]++
		if alias, ok := strings.CutPrefix(answer[0], "="); ok {
			out = append(out, record(name, 5, wire(alias)))
			name = alias
			continue
		}
		for _, a := range answer {
			addr := netip.MustParseAddr(a)
			if want := map[bool]uint16{true: 1, false: 28}[addr.Is4()]; want == kind {
				out = append(out, record(name, kind, addr.AsSlice()))
			}
		}
		return out, true
	}
	return out, true
}

// record is a resource record of class IN with a TTL of 0.
func record(name string, kind uint16, data []byte) []byte {
	out := wire(name)
	out = binary.BigEndian.AppendUint16(out, kind)
	out = append(out, 0, 1, 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint16(out, uint16(len(data)))
	return append(out, data...)
}

func wire(name string) []byte {
	var out []byte
	for _, l := range strings.Split(name, ".") {
		out = append(append(out, byte(len(l))), l...)
	}
	return append(out, 0)
}
