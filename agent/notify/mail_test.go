package notify

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"net/textproto"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// server is a small SMTP server, at which me@example.org has a mailbox and the user me the
// password hunter2.
type server struct {
	tls   *tls.Config
	begin bool // it speaks TLS from the first byte
	plain bool // it offers no STARTTLS
	mails chan string
}

// listen serves on loopback, with a certificate of an authority that roots has.
func (s *server) listen(t *testing.T) (addr string, roots *x509.CertPool) {
	web := httptest.NewTLSServer(nil)
	t.Cleanup(web.Close)
	roots = x509.NewCertPool()
	roots.AddCert(web.Certificate())
	s.tls, s.mails = &tls.Config{Certificates: web.TLS.Certificates}, make(chan string, 10)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if s.begin {
				conn = tls.Server(conn, s.tls)
			}
			go s.serve(conn)
		}
	}()
	return l.Addr().String(), roots
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	secure := s.begin
	lines := bufio.NewReader(conn)
	say := func(text string) { fmt.Fprintf(conn, "%s\r\n", text) }
	say("220 ready")
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, rest, _ := strings.Cut(strings.TrimSpace(line), " "); verb {
		case "EHLO":
			if !secure && !s.plain {
				say("250-me\r\n250-STARTTLS")
			}
			say("250-me\r\n250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go on")
			conn, secure = tls.Server(conn, s.tls), true
			lines = bufio.NewReader(conn)
		case "AUTH":
			say(map[bool]string{true: "235 welcome", false: "535 5.7.8 bad credentials"}[rest == "PLAIN "+base64.StdEncoding.EncodeToString([]byte("\x00me\x00hunter2"))])
		case "RCPT":
			say(map[bool]string{true: "250 ok", false: "550 5.1.1 no such user"}[rest == "TO:<me@example.org>"])
		case "DATA":
			say("354 go on")
			data, err := io.ReadAll(textproto.NewReader(lines).DotReader())
			if err != nil {
				return
			}
			s.mails <- string(data)
			say("250 taken")
		default:
			say("250 ok")
		}
	}
}

// Mails go over TLS that is checked, and what keeps one from being sent is said with its mend.
func TestMail(t *testing.T) {
	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	closed.Close()
	for _, tt := range []struct {
		name   string
		server server
		change func(n *Notifier, m *Mail)
		want   string // of the error
	}{
		{"starttls", server{}, nil, ""},
		{"tls", server{begin: true}, func(_ *Notifier, m *Mail) { m.TLS = "tls" }, ""},
		{"no password", server{plain: true}, func(_ *Notifier, m *Mail) { m.TLS, m.User, m.PasswordEnv = "", "", "" }, ""},
		{"no STARTTLS", server{plain: true}, nil, "offers no STARTTLS; check the port, or say tls: tls"},
		{"no TLS", server{plain: true}, func(_ *Notifier, m *Mail) { m.TLS = "tls" }, "check the port, and tls: starttls on 587, tls on 465"},
		{"certificate", server{}, func(n *Notifier, _ *Mail) { n.Roots = nil }, "host must be a name that its certificate has"},
		{"login", server{}, func(_ *Notifier, m *Mail) { m.User = "you" }, "bad credentials\"; check user, the password in $PASS, and tls"},
		{"variable", server{}, func(_ *Notifier, m *Mail) { m.PasswordEnv = "NONE" }, "there is nothing in $NONE: write NONE=… into .env"},
		{"host", server{}, func(_ *Notifier, m *Mail) { m.Host = closed.Addr().String() }, "cannot be reached: "},
		{"mailbox", server{}, func(_ *Notifier, m *Mail) { m.To = append(m.To, "you@example.org") }, "no such user\"; check from and to"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr, roots := tt.server.listen(t)
			m := &Mail{To: []string{"Me <me@example.org>"}, From: "rouse@example.org", Host: addr, User: "me", PasswordEnv: "PASS", TLS: "starttls"}
			r := newRig(t, Sink{Mail: m})
			r.Roots, r.Getenv = roots, func(name string) string { return map[string]string{"PASS": "hunter2"}[name] }
			if tt.change != nil {
				tt.change(r.Notifier, m)
			}
			if err := r.Try(t.Context(), r.Sinks[0]); tt.name != "mailbox" && (err == nil) != (tt.want == "") {
				t.Errorf("tried: %v", err)
			}
			r.must(r.Tell(t.Context(), Missed, "1", "a slot was missed"))
			r.must(r.Deliver(t.Context()))
			list, err := r.Recent()
			r.must(err)
			d := list[0].Deliveries[0]
			if tt.want != "" {
				if d.Status != ToSend || !strings.Contains(d.Error, tt.want) || len(tt.server.mails) > 0 {
					t.Errorf("%+v, want %q", d, tt.want)
				}
				return
			}
			if d.Status != Sent {
				t.Fatalf("%+v", d)
			}
			got := <-tt.server.mails
			for _, want := range []string{
				"From: <rouse@example.org>\n", "To: \"Me\" <me@example.org>\n", "Subject: rouse " + filepath.Base(r.Home) + ": missed: a slot was missed\n",
				"Date: Thu, 30 Apr 2026 12:00:00 +0000\n", "Message-ID: <" + list[0].Event.ID + ".rouse@example.org>\n", "Auto-Submitted: auto-generated\n", "\n\na slot was missed\n",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in:\n%s", want, got)
				}
			}
		})
	}
}

// A mail carries what an event says in both forms and as files, and nothing of it gets
// into the header.
func TestCompose(t *testing.T) {
	l := Event{HTML: "<p>schön</p>", Attachments: []Attachment{{"../Zahlen für mich.csv", []byte(strings.Repeat("1,2\n", 50))}}}
	l.ID, l.Subject, l.Text = "ID", "schön\r\nBcc: you@example.org\r\n\r\n"+strings.Repeat("ü", 300), "schön\n.\n"+strings.Repeat("x", 2000)+"\n\xff"
	list := []*mail.Address{{Address: "a@example.org"}, {Name: "Jürgen", Address: "b@example.org"}, {Address: "c@example.org"}}
	text := string(compose(list, l))
	for line := range strings.Lines(text) {
		if len(line) > 200 || strings.HasPrefix(line, "Bcc") || !strings.HasSuffix(line, "\r\n") {
			t.Errorf("the line %q", line)
		}
	}
	msg, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	to, err := msg.Header.AddressList("To")
	subject, failed := new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	if err != nil || failed != nil || len(to) != 2 || to[0].Name != "Jürgen" || !strings.HasPrefix(subject, `schön\r\nBcc: you@example.org\r\n\r\nüü`) {
		t.Errorf("%v, %v; %q, %v", to, err, subject, failed)
	}
	var got []string
	var walk func(header textproto.MIMEHeader, r io.Reader)
	walk = func(header textproto.MIMEHeader, r io.Reader) {
		kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
		switch {
		case err != nil:
			t.Fatal(err)
		case strings.HasPrefix(kind, "multipart/"):
			for mr := multipart.NewReader(r, params["boundary"]); ; {
				p, err := mr.NextRawPart()
				if err != nil {
					return
				}
				walk(p.Header, p)
			}
		case header.Get("Content-Transfer-Encoding") == "base64":
			r = base64.NewDecoder(base64.StdEncoding, r)
		default:
			r = quotedprintable.NewReader(r)
		}
		body, err := io.ReadAll(r)
		_, file, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
		got = append(got, fmt.Sprint(kind, " ", file["filename"], " ", strings.ReplaceAll(string(body), "\r\n", "\n"), err))
	}
	walk(textproto.MIMEHeader(msg.Header), msg.Body)
	want := []string{
		"text/plain  schön\n.\n" + strings.Repeat("x", 2000) + "\n\uFFFD<nil>", "text/html  <p>schön</p><nil>",
		"text/csv Zahlen für mich.csv " + strings.Repeat("1,2\n", 50) + "<nil>",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
