package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rouse/internal/text"
)

// Mail is a sink that hands mails to a server.
type Mail struct {
	To          []string `yaml:"to"`
	From        string   `yaml:"from"`
	Host        string   `yaml:"host"` // with its port
	User        string   `yaml:"user"`
	PasswordEnv string   `yaml:"password_env"` // the variable that holds the password
	TLS         string   `yaml:"tls"`          // starttls, tls or none; "" is starttls but for this machine
}

// check says what is wrong with it.
func (m *Mail) check() error {
	_, _, err := net.SplitHostPort(m.Host)
	switch _, wrong := m.addresses(); {
	case wrong != nil:
		return wrong
	case err != nil:
		return errors.New("mail: host is a server with its port, such as smtp.example.org:587")
	case !slices.Contains([]string{"", "starttls", "tls", "none"}, m.TLS):
		return fmt.Errorf("mail: tls %q: use starttls, tls or none", m.TLS)
	case (m.User == "") != (m.PasswordEnv == ""):
		return errors.New("mail: user and password_env, the name of the variable that holds the password, go together")
	case m.User != "" && m.tls() == "none" && !m.local():
		return errors.New("mail: no password goes to another machine without TLS; say tls: starttls, or tls: tls")
	}
	return nil
}

// addresses are who it is from, and to.
func (m *Mail) addresses() ([]*mail.Address, error) {
	list, err := mail.ParseAddressList(strings.Join(append([]string{m.From}, m.To...), ", "))
	if err != nil || len(list) < 2 || len(list) != 1+len(m.To) {
		return nil, errors.New("mail: from is an address, and to a list of them, such as [me@example.org]")
	}
	return list, nil
}

func (m *Mail) name() string { host, _, _ := net.SplitHostPort(m.Host); return host }

// local says that the server is on this machine.
func (m *Mail) local() bool { return m.name() == "localhost" || net.ParseIP(m.name()).IsLoopback() }

// tls is how what is said to the server is kept from others.
func (m *Mail) tls() string {
	if m.TLS == "" && m.local() {
		return "none"
	}
	return cmp.Or(m.TLS, "starttls")
}

// converse hands an event to the server; of none it only logs in.
func (n *Notifier) converse(ctx context.Context, m *Mail, e *Event) (err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	conn, err := n.guard().Dial(ctx, "tcp", m.Host)
	if err != nil {
		return fmt.Errorf("%s cannot be reached: %w; check host", m.Host, err)
	}
	defer conn.Close()
	context.AfterFunc(ctx, func() { conn.Close() })
	c, err := m.begin(conn, &tls.Config{ServerName: m.name(), RootCAs: n.Roots})
	if err != nil {
		return err
	}
	if m.User != "" {
		password, err := n.secret(m.PasswordEnv)
		if err != nil {
			return err
		}
		if err := c.Auth(smtp.PlainAuth("", m.User, password, m.name())); err != nil {
			return fmt.Errorf("%s refuses the login of %s: %w; check user, the password in $%s, and tls", m.Host, m.User, err, m.PasswordEnv)
		}
	}
	if e != nil {
		err = m.deposit(c, *e)
	}
	if err != nil {
		return fmt.Errorf("%s does not take the mail: %w; check from and to", m.Host, err)
	}
	_ = c.Quit() // it has the mail
	return nil
}

// begin greets the server, with TLS where that is said.
func (m *Mail) begin(conn net.Conn, secure *tls.Config) (*smtp.Client, error) {
	if m.tls() == "tls" {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, m.name())
	if err == nil && m.tls() == "starttls" {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return nil, fmt.Errorf("%s offers no STARTTLS; check the port, or say tls: tls where it speaks TLS from the first byte, as on 465", m.Host)
		}
		err = c.StartTLS(secure)
	}
	mend := "check the port, and tls: starttls on 587, tls on 465"
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		mend = "host must be a name that its certificate has, of an authority that this machine knows; of one's own, $SSL_CERT_FILE names the file, in the crontab or unit and not in .env"
	}
	if err != nil {
		return nil, fmt.Errorf("no conversation with %s: %w; %s", m.Host, err, mend)
	}
	return c, nil
}

// deposit sends a mail with it, to all or to nobody.
func (m *Mail) deposit(c *smtp.Client, e Event) error {
	list, err := m.addresses()
	if err == nil {
		err = c.Mail(list[0].Address)
	}
	for i := 1; err == nil && i < len(list); i++ {
		err = c.Rcpt(list[i].Address)
	}
	var w io.WriteCloser
	if err == nil {
		w, err = c.Data()
	}
	if err == nil {
		_, err = w.Write(compose(list, e))
		err = cmp.Or(err, w.Close())
	}
	return err
}

// compose writes a mail, the first address being the sender's. What the event says can end no line of the header.
func compose(list []*mail.Address, e Event) []byte {
	const brief = 100 // characters of an event are in the subject
	if e.Subject == "" {
		e.Subject = fmt.Sprintf("rouse %s: %s: %s", filepath.Base(e.Home), e.Kind, text.Brief(e.Text, brief))
		e.Text += "\n\n-- \nrouse, " + e.Home
	}
	all := written("text/plain", e.Text)
	if e.HTML != "" {
		all = several("alternative", all, written("text/html", e.HTML))
	}
	if len(e.Attachments) > 0 {
		all = several("mixed", append([]entity{all}, attached(e.Attachments)...)...)
	}
	var to []string
	for _, a := range list[1:] {
		to = append(to, a.String())
	}
	_, domain, _ := strings.Cut(list[0].Address, "@")
	subject := mime.QEncoding.Encode("utf-8", text.Line(e.Subject, maxSubject))
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", list[0].String()}, {"To", strings.Join(to, ",\r\n ")}, {"Subject", strings.ReplaceAll(subject, "?= =?", "?=\r\n =?")},
		{"Date", e.Time.Format(time.RFC1123Z)}, {"Message-ID", "<" + e.ID + ".rouse@" + domain + ">"}, {"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"}, {"Content-Type", all.Get("Content-Type")}, {"Content-Transfer-Encoding", cmp.Or(all.Get("Content-Transfer-Encoding"), "7bit")},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	return append(append(b.Bytes(), "\r\n"...), all.body...)
}

// entity is a part of a mail, or all of it.
type entity struct {
	textproto.MIMEHeader
	body []byte
}

// written is a part that is read.
func written(kind, said string) entity {
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(strings.ToValidUTF8(said, "\uFFFD"))) // memory takes it
	_ = w.Close()
	return entity{textproto.MIMEHeader{"Content-Type": {kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"}}, b.Bytes()}
}

// several puts parts together.
func several(kind string, parts ...entity) entity {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		part, _ := w.CreatePart(p.MIMEHeader) // memory takes it
		_, _ = part.Write(p.body)
	}
	_ = w.Close()
	return entity{textproto.MIMEHeader{"Content-Type": {"multipart/" + kind + ";\r\n boundary=" + w.Boundary()}}, b.Bytes()}
}

// attached are parts that are kept.
func attached(list []Attachment) (parts []entity) {
	for _, a := range list {
		var b bytes.Buffer
		for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(a.Data)), 76) {
			b.Write(append(line, "\r\n"...))
		}
		parts = append(parts, entity{textproto.MIMEHeader{
			"Content-Type":              {cmp.Or(mime.TypeByExtension(filepath.Ext(a.Name)), "application/octet-stream")},
			"Content-Transfer-Encoding": {"base64"},
			"Content-Disposition":       {mime.FormatMediaType("attachment", map[string]string{"filename": filepath.Base(a.Name)})},
		}, b.Bytes()})
	}
	return parts
}
