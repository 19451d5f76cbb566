// Package hook lets programs elsewhere hand a home a task: what they send is proven by a
// signature, and a template of the operator's makes a task of it.
//
// The signatures are those of the senders: [GitHub], [GitLab], [Slack], and, for whoever has
// none of their own, that of Rouse's webhook sink or a bearer token.
//
// [GitHub]: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
// [GitLab]: https://docs.gitlab.com/user/project/integrations/webhooks/#validate-payloads-by-using-a-secret-token
// [Slack]: https://docs.slack.dev/authentication/verifying-requests-from-slack
package hook

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"rouse/agent/check"
)

// MaxBody is how much a sender may send, in bytes, and window how old it may be, where the
// signature says how old it is.
const (
	MaxBody = 1 << 20
	window  = 5 * time.Minute
)

// The ways to prove who sends.
const (
	GitHub = "github"
	GitLab = "gitlab"
	Slack  = "slack"
	Plain  = "plain"
	Bearer = "bearer"
)

// The headers of a plain signature: the HMAC-SHA256 of the time, a full stop and the body, in
// hexadecimal behind "sha256=", and the time in seconds since 1970.
const (
	SignatureHeader = "X-Rouse-Signature"
	TimeHeader      = "X-Rouse-Timestamp"
)

// Spec is a hook, as the operator configured it.
type Spec struct {
	Name string `yaml:"name"`
	// Sign is how senders prove who they are; "" is [Plain].
	Sign string `yaml:"sign"`
	// SecretEnv names the variable with the secret that they share.
	SecretEnv string `yaml:"secret_env"`
	// Template makes the task of what was sent; "" is for that as it is.
	Template string `yaml:"template"`
	// Check is a test of the task or a list of them, as a task in the memory has it.
	Check any `yaml:"check"`
	// Wake is now, to start a cycle at once, or slot, to leave it for the next one.
	Wake string `yaml:"wake"`
	// Deliver is what the task makes, sent to sinks of the home when it is done.
	Deliver Deliver `yaml:"deliver"`
	// PerHour bounds how many tasks are taken; 0 is 60.
	PerHour int `yaml:"per_hour"`
}

// Hourly is how many tasks are taken in an hour.
func (s Spec) Hourly() int { return cmp.Or(s.PerHour, 60) }

// Deliver says where the file goes that a task makes.
type Deliver struct {
	File string   `yaml:"file"` // in the workspace
	To   []string `yaml:"to"`   // names of sinks
	// Subject is a template of the message's subject, as that of the task: where an answer
	// belongs, such as the address or the thread that was sent.
	Subject string `yaml:"subject"`
}

// fit is what a name has, which stands in an address.
var fit = func(name string) bool { ok, _ := regexp.MatchString(`^[a-z0-9][a-z0-9_-]{0,63}$`, name); return ok }

// Validate reports what cannot be meant, beginning with its key.
func (s Spec) Validate() error {
	switch s.Sign {
	case "", GitHub, GitLab, Slack, Plain, Bearer:
	default:
		return fmt.Errorf("sign %.40q: use github, gitlab, slack, plain or bearer", s.Sign)
	}
	switch {
	case !fit(s.Name):
		return fmt.Errorf("name %.80q: it stands in an address; use lower case letters, digits, - and _", s.Name)
	case s.SecretEnv == "":
		return errors.New("secret_env is empty: name the variable with the secret that the sender has too")
	case s.Wake != "" && s.Wake != "now" && s.Wake != "slot":
		return fmt.Errorf("wake %.40q: use now or slot", s.Wake)
	case s.Deliver.File == "" != (len(s.Deliver.To) == 0) || s.Deliver.File != "" && !filepath.IsLocal(s.Deliver.File):
		return errors.New("deliver: write {file: a file in the workspace, to: [sinks]}")
	case s.PerHour < 0:
		return errors.New("per_hour must not be below 0")
	}
	if s.Check != nil {
		if _, err := check.Parse(s.Check); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	_, err := parse(s.Template)
	if err == nil {
		_, err = parse(s.Deliver.Subject)
	}
	return err
}

// ErrRefused says that what was sent is not proven. It never says what would be.
var ErrRefused = errors.New("not signed as the hook wants it, or too long ago: see sign and secret_env of the hook")

// Verify proves that who has the secret sent a body, of late where the signature says when.
func (s Spec) Verify(secret string, h http.Header, body []byte, now time.Time) error {
	ok := false
	switch s.Sign {
	case GitHub:
		ok = signed(secret, h.Get("X-Hub-Signature-256"), "sha256=", string(body))
	case GitLab:
		ok = same(h.Get("X-Gitlab-Token"), secret)
	case Slack:
		at := h.Get("X-Slack-Request-Timestamp")
		ok = recent(at, now) && signed(secret, h.Get("X-Slack-Signature"), "v0=", "v0:"+at+":"+string(body))
	case Bearer:
		token, bearer := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
		ok = bearer && same(token, secret)
	default:
		at := h.Get(TimeHeader)
		ok = recent(at, now) && signed(secret, h.Get(SignatureHeader), "sha256=", at+"."+string(body))
	}
	if !ok || secret == "" {
		return ErrRefused
	}
	return nil
}

// Sign is the value of [SignatureHeader] for a body that is sent at a time.
func Sign(secret, at string, body []byte) string {
	return "sha256=" + Sum(secret, at+"."+string(body))
}

// Sum is the HMAC-SHA256 of a text, in hexadecimal.
func Sum(secret, text string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}

func signed(secret, given, prefix, text string) bool {
	given, ok := strings.CutPrefix(given, prefix)
	return ok && hmac.Equal([]byte(given), []byte(Sum(secret, text)))
}

// same compares without telling by its time how much is alike.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

func recent(at string, now time.Time) bool {
	seconds, err := strconv.ParseInt(at, 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= window
}

// ID is that of a delivery: what is sent again has the same one, and who does not have the
// secret cannot guess it. It is of what is signed; where only a token proves who sends, of
// what they say is one delivery.
func (s Spec) ID(secret string, h http.Header, body []byte) string {
	nonce := ""
	switch s.Sign {
	case GitHub: // the body alone is signed
	case Slack:
		nonce = h.Get("X-Slack-Request-Timestamp")
	case GitLab, Bearer:
		nonce = cmp.Or(h.Get("X-Gitlab-Event-Uuid"), h.Get("Idempotency-Key"), rand.Text())
	default: // a body with an id of its own is one delivery, whenever it is sent
		var own struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(body, &own) != nil || own.ID == "" {
			nonce = h.Get(TimeHeader)
		}
	}
	return Sum(secret, s.Name+"\n"+nonce+"\n"+string(body))[:32]
}
