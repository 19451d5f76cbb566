// Package policy decides, by the operator's rules, whether a call is carried out, waits
// for a person, or is refused.
//
// The first rule that fits decides. Where none does, the posture of the home has a
// default for what could carry private data away once text from outside was read.
package policy

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"rouse/internal/netguard"
	"rouse/internal/text"
	"rouse/scratchpad/origin"
)

// Do is what becomes of a call.
type Do string

// Allow carries it out, Ask parks it until a person has answered, Deny refuses it.
const (
	Allow Do = "allow"
	Ask   Do = "ask"
	Deny  Do = "deny"
)

// Call is a call that is about to be carried out.
type Call struct {
	Tool string
	// Args are its arguments, references resolved, but for those Unseen, which may be
	// anything.
	Args   json.RawMessage
	Unseen []string
	Effect Effect
	// Origins are what the cycle, with its memory, has read before.
	Origins origin.Set
	// Said, unless nil, gives the operator's own words: rules, task and goals.
	Said func() string
}

// Decision is what the rules say of a call.
type Decision struct {
	Do Do
	// Rule names the rule that decided, such as "policy[2]" or "careful"; "" is none.
	Rule string
	Why  string
}

// or is the stricter of two decisions, d where they are alike.
func (d Decision) or(other Decision) Decision {
	order := []Do{"", Allow, Ask, Deny}
	if slices.Index(order, other.Do) > slices.Index(order, d.Do) {
		return other
	}
	return d
}

// Policy is what the operator says of calls.
type Policy struct {
	Rules []Rule
	// Posture is that of the home; "" has no default.
	Posture string
	// Hosts are those that the configuration names: name, name:port or *.name.
	Hosts []string
}

// Decide says what becomes of a call: the strictest of what becomes of its parts.
func (p Policy) Decide(c Call) (d Decision) {
	for _, command := range c.commands() {
		d = d.or(p.decide(c, command))
	}
	return d
}

// decide says what becomes of a call with one of its commands: what the first rule says
// that fits, or, where others before it may fit, the strictest of what all these say.
func (p Policy) decide(c Call, command simple) (d Decision) {
	for i, r := range p.Rules {
		fit := r.fits(c, command)
		if fit == no {
			continue
		}
		said := Decision{r.Do, fmt.Sprintf("policy[%d]", i), r.why()}
		if fit == maybe && command.odd != "" {
			said.Why += fmt.Sprintf(" (the command could be that, as it has %s; write simple commands with plain words)", command.odd)
		}
		if d = d.or(said); fit == yes {
			return d
		}
	}
	return d.or(p.standard(c))
}

// standard is the default of the posture.
func (p Policy) standard(c Call) Decision {
	outside := c.Origins.Outside()
	if p.Posture == "" || c.Effect != Outward || !c.Origins.Private() || len(outside) == 0 || p.named(c) {
		return Decision{Do: Allow}
	}
	d := Decision{Allow, p.Posture, "it could carry private data away, after texts from " + text.Line(outside.String(), 200)}
	switch p.Posture {
	case "careful":
		d.Do = Ask
	case "strict":
		d.Do = Deny
	}
	return d
}

// named says that a call asks a host that the operator has named, in the configuration
// or in words; one with an @ is an address of mail.
func (p Policy) named(c Call) bool {
	var a struct{ URL string }
	if c.Tool != "http_get" || json.Unmarshal(c.Args, &a) != nil {
		return false
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Hostname() == "" {
		return false
	}
	host, names := netguard.Normal(u.Hostname()), p.Hosts
	file := has(fileEndings, host[strings.LastIndex(host, ".")+1:]) // README.md is one
	if c.Said != nil {
		said := c.Said()
		if file && strings.Contains(strings.ToLower(said), "//"+host) {
			return true
		}
		names = append(slices.Clone(names), strings.FieldsFunc(said, func(r rune) bool {
			return file || r <= 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._@", r)
		})...)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		name, _, _ = strings.Cut(name, ":")
		below, star := strings.CutPrefix(name, "*")
		return netguard.Normal(strings.Trim(name, ".")) == host || star && strings.HasSuffix(host, netguard.Normal(below))
	})
}

// fileEndings are those of files that hosts have too.
const fileEndings = "md sh py rs pl pm ps cc so ml tf pub zip mov"

// Could are the decisions that calls of a tool may meet, in order, each with the rule in
// words; the last one holds where none before does.
func (p Policy) Could(tool string, e Effect) (list []Decision) {
	for i, r := range p.Rules {
		if r.Tool != "" && !glob(r.Tool, tool, false) && !glob(tool, r.Tool, false) || r.Effect != "" && r.Effect != e {
			continue
		}
		about := strings.TrimPrefix(fmt.Sprint(r.Match), "map")
		if r.Origin != "" {
			about += " after " + r.Origin
		}
		list = append(list, Decision{r.Do, fmt.Sprintf("policy[%d]", i), strings.TrimPrefix(about+": "+r.why(), "[]: ")})
		if len(r.Match) == 0 && r.Origin == "" && (r.Tool == "" || glob(r.Tool, tool, false)) {
			return list
		}
	}
	if d := p.standard(Call{Effect: e, Origins: origin.Set{"outside", origin.Private}}); d.Rule != "" {
		list = append(list, d)
	}
	return append(list, Decision{Do: Allow})
}
