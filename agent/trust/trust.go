// Package trust tells what a home relied on before from what another hand has
// put in its place: the address that the model's key is sent to, the programs
// that MCP servers are, and the list of their accepted tools.
//
// What a cycle relied on is in its journal, in the events wake, accepted and
// sleep, and what a person accepted by a verb in logs/accepted.json. To remove
// either makes nothing look new: what is in neither of them was never seen. Both
// are believed only as far as they are sealed with the key of the journals, so
// that nothing is accepted by a line that somebody adds to the logs. A process
// that reads the key, or removes all journals, can make of it what it likes.
package trust

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/text"
	"rouse/journal"
)

// Found is what the files of a home say now.
type Found struct {
	// BaseURL is model.base_url of the file; Overridden says that the environment
	// names another one, which is the operator's. One of .env is as the file's:
	// Where then says so.
	BaseURL    string
	Overridden bool
	Where      string // default: model.base_url in rouse.yaml
	Asked      string // the address that is asked, wherever it is from
	// Fallback are the addresses of model.fallback, each with the name of its key.
	Fallback []Address
	// Notebook is the server of remote notebooks, with the name of its token, empty
	// where notebooks run here.
	Notebook Address
	// Servers are those of .mcp.json that are not disabled.
	Servers []Server
}

// Address is where something is asked, with the variable of its key.
type Address struct{ URL, Key string }

// Server is an MCP server as .mcp.json has it.
type Server struct {
	Name    string
	Command string // the hash of its command, or its address
	Shown   string // the same, for people
}

// Known is what a home relied on before. The zero value knows nothing.
type Known struct {
	// Cycle relied on it, "" where no cycle is known to.
	Cycle string
	// Left is how the cycle left the home; see [journal.Sleep.Left].
	Left map[string]string
	// Slept is the cycle whose journal was found to end in its sleep, the last one.
	Slept    string
	trust    journal.Trust
	accepted journal.Trust
}

// lookBack is how many cycles are asked that have nothing to say, such as those
// that ended before they began, in a home whose journals prove nothing.
const lookBack = 64

// Read gives what the newest cycle relied on that says so, and what a person
// accepted since, as far as the key of the journals proves it. Where that proves
// nothing of any cycle, as the key is new or there is none yet, what they say is
// still something to compare with.
func Read(h home.Home, key []byte, newest string) Known {
	k := Known{accepted: accepted(h, key)}
	if newest == "" || k.read(h, key, newest) || key != nil && k.look(h, key, 0) {
		return k
	}
	k.look(h, nil, lookBack)
	return k
}

// look asks the newest cycles; 0 is all, so that no number of journals that
// somebody makes up hides the one that is proven.
func (k *Known) look(h home.Home, key []byte, limit int) bool {
	ids, _ := h.Cycles(limit) // logs that cannot be read fail the cycle elsewhere
	return slices.ContainsFunc(ids, func(id string) bool { return k.read(h, key, id) })
}

// read takes what a cycle slept with, unless it does not say. Where its journal
// does not end so, it is read whole.
func (k *Known) read(h home.Home, key []byte, id string) bool {
	slept, err := journal.Ending(h.Journal(id), journal.NewChain(key, id))
	if err != nil {
		return false
	}
	var t *journal.Trust
	if slept != nil {
		t, k.Slept = slept.Trust, id
	} else if t, slept = proven(h, key, id); t == nil {
		return false
	}
	if slept != nil {
		k.Left = slept.Left
	}
	if t == nil {
		return false
	}
	k.Cycle, k.trust = id, *t
	return true
}

// proven is what the proven lines of a journal say that a cycle relied on, and its
// sleep if it slept before somebody wrote on.
func proven(h home.Home, key []byte, id string) (t *journal.Trust, slept *journal.Sleep) {
	for e, err := range journal.Proven(journal.Check(h.Journal(id), journal.NewChain(key, id))) {
		if err != nil {
			return nil, nil
		}
		switch d := e.Data.(type) {
		case *journal.Wake:
			t = d.Trust
		case *journal.Accepted:
			if t != nil {
				t.Set(d.Server, journal.TrustedServer{Tools: d.Tools})
			}
		case *journal.Sleep:
			t, slept = d.Trust, d
		}
	}
	return t, slept
}

// maxFile is the largest accepted.json that is read, in bytes.
const maxFile = 1 << 20

// agreed is accepted.json: what a person accepted, sealed with the journals' key.
type agreed struct {
	journal.Trust
	MAC string `json:"mac"`
}

// seal is the mac of what was accepted. No line of a journal begins like that.
func seal(t journal.Trust, key []byte) string {
	text, _ := json.Marshal(t) // it holds only texts
	m := hmac.New(sha256.New, key)
	m.Write([]byte("rouse accepted\n"))
	m.Write(text)
	return hex.EncodeToString(m.Sum(nil))
}

// accepted reads what a person accepted: nothing, where the key does not prove it. A home
// that no cycle woke in has a key, too, once somebody accepted something.
func accepted(h home.Home, key []byte) journal.Trust {
	var a agreed
	data, err := disk.ReadSmall(h.Accepted(), maxFile)
	if err == nil && key == nil {
		key, err = h.Key()
	}
	if err != nil || json.Unmarshal(data, &a) != nil || key == nil || !hmac.Equal([]byte(a.MAC), []byte(seal(a.Trust, key))) {
		return journal.Trust{} // nothing is accepted by a file that cannot be read
	}
	return a.Trust
}

// Accept puts down what a person accepted, beside what is there.
func Accept(h home.Home, f disk.FS, add func(*journal.Trust)) error {
	key, err := keyOf(h, f)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	t := accepted(h, key)
	add(&t)
	data, err := json.MarshalIndent(agreed{t, seal(t, key)}, "", "  ")
	if err == nil {
		err = disk.Replace(f, h.Accepted(), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	return nil
}

// keyOf is the key of the journals. A home that has none gets one here, under its
// lock: that of a cycle is not put out of use.
func keyOf(h home.Home, f disk.FS) ([]byte, error) {
	key, err := h.Key()
	if err != nil || key != nil {
		return key, err
	}
	if err := h.MakeFolders(f); err != nil {
		return nil, err
	}
	unlock, err := h.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return h.MakeKey(f)
}

// Accept puts down which list of a server's tools holds, unless that is known.
func (k Known) Accept(h home.Home, f disk.FS, server, list string) error {
	if slices.Contains(k.Tools(server), list) {
		return nil
	}
	return Accept(h, f, func(t *journal.Trust) { t.Set(server, journal.TrustedServer{Tools: list}) })
}

// SetBaseURL puts the address of the configuration's file into t.
func (f Found) SetBaseURL(t *journal.Trust) {
	t.BaseURL, t.BaseURLHash = shownURL(f.BaseURL), hash(f.BaseURL)
}

// SetFallback puts the addresses of model.fallback into t.
func (f Found) SetFallback(t *journal.Trust) {
	t.Fallback, t.FallbackHashes = nil, nil
	for _, a := range f.Fallback {
		t.Fallback, t.FallbackHashes = append(t.Fallback, shownURL(a.URL)), append(t.FallbackHashes, a.hash())
	}
	if len(f.Fallback) == 0 {
		t.FallbackHashes = []string{"none"}
	}
}

// SetNotebook puts the server of remote notebooks into t.
func (f Found) SetNotebook(t *journal.Trust) {
	t.Notebook, t.NotebookHash = shownURL(f.Notebook.URL), f.Notebook.hash()
}

func (a Address) hash() string { return hash(a.URL + " " + a.Key) }

// Next is what a cycle relies on that found f and went on.
func (k Known) Next(f Found) *journal.Trust {
	t := k.trust
	if !f.Overridden || t.BaseURLHash == "" {
		f.SetBaseURL(&t)
	}
	if f.Asked != "" {
		t.AskedHash = hash(f.Asked)
	}
	f.SetFallback(&t)
	f.SetNotebook(&t)
	for _, s := range f.Servers {
		t.Set(s.Name, journal.TrustedServer{Command: s.Command})
	}
	return &t
}

// Tools are the hashes of the lists of a server's tools that were accepted; none
// of a server that was never seen.
func (k Known) Tools(server string) (hashes []string) {
	for _, t := range []journal.Trust{k.trust, k.accepted} {
		if h := t.Servers[server].Tools; h != "" {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// Changed says that what a home relies on was changed, and how that is accepted.
type Changed struct {
	BaseURL  bool   // it is the model's address
	Fallback bool   // or that of one which is asked in its place
	Notebook bool   // or that of the notebooks
	What     string // what is accepted then, for people
	Server   string // or what starts this server
	Text     string
}

func (c *Changed) Error() string { return c.Text }

// Skills are those that a person accepted.
func (k Known) Skills() map[string]journal.TrustedSkill { return k.accepted.Skills }

// Check gives what of f a cycle may not use before a person has accepted it: the
// addresses first, then the servers.
func (k Known) Check(f Found) (list []*Changed) {
	if c := k.checkBaseURL(f); c != nil {
		list = append(list, c)
	}
	if c := k.checkFallback(f); c != nil {
		list = append(list, c)
	}
	if c := k.CheckNotebook(f); c != nil {
		list = append(list, c)
	}
	for _, s := range f.Servers {
		if c := k.CheckServer(s); c != nil {
			list = append(list, c)
		}
	}
	return list
}

// Err is the first of what [Known.Check] finds, as an error, or nil.
func (k Known) Err(f Found) error {
	if list := k.Check(f); len(list) > 0 {
		return list[0]
	}
	return nil
}

func (k Known) checkBaseURL(f Found) *Changed {
	was, now := cmp.Or(k.trust.BaseURLHash, k.accepted.BaseURLHash), hash(f.BaseURL)
	if f.Overridden || was == "" || now == was || now == k.accepted.BaseURLHash || now == k.trust.AskedHash {
		return nil
	}
	return &Changed{BaseURL: true, What: cmp.Or(f.Where, "model.base_url as rouse.yaml has it"), Text: fmt.Sprintf(
		"%s changed since %s (was %s, is %s): if that was you, run rouse doctor --accept",
		cmp.Or(f.Where, "model.base_url in rouse.yaml"), k.since(), cmp.Or(k.trust.BaseURL, k.accepted.BaseURL), shownURL(f.BaseURL))}
}

// checkFallback finds an address of model.fallback that is new; one that is gone
// gets no key.
func (k Known) checkFallback(f Found) *Changed {
	known := slices.Concat(k.trust.FallbackHashes, k.accepted.FallbackHashes)
	for _, a := range f.Fallback {
		if len(known) == 0 || slices.Contains(known, a.hash()) {
			continue
		}
		return &Changed{Fallback: true, What: "model.fallback as rouse.yaml has it", Text: fmt.Sprintf(
			"model.fallback in rouse.yaml changed since %s (%s, or the variable of its key, is new): if that was you, run rouse doctor --accept", k.since(), shownURL(a.URL))}
	}
	return nil
}

// CheckNotebook says whether notebooks run on another server than they did, or get
// another token. Where they run here again, nobody gets one.
func (k Known) CheckNotebook(f Found) *Changed {
	was, now := cmp.Or(k.trust.NotebookHash, k.accepted.NotebookHash), f.Notebook.hash()
	if f.Notebook.URL == "" || was == "" || now == was || now == k.accepted.NotebookHash {
		return nil
	}
	return &Changed{Notebook: true, What: "notebook.endpoint as rouse.yaml has it", Text: fmt.Sprintf(
		"notebook.endpoint in rouse.yaml, or the variable of its token, changed since %s (was %s, is %s): if that was you, run rouse doctor --accept",
		k.since(), cmp.Or(k.trust.Notebook, k.accepted.Notebook), shownURL(f.Notebook.URL))}
}

// CheckServer says whether a server is another program, or another address, than
// it was; nil is for one that is the same, or was never seen.
func (k Known) CheckServer(s Server) *Changed {
	agreed := k.accepted.Servers[s.Name].Command
	was := cmp.Or(k.trust.Servers[s.Name].Command, agreed)
	if was == "" || s.Command == was || s.Command == agreed {
		return nil
	}
	return &Changed{Server: s.Name, Text: fmt.Sprintf(
		"what starts the MCP server %s in .mcp.json changed since %s (is %s): if that was you, run rouse mcp accept %[1]s",
		text.Line(s.Name, 80), k.since(), text.Line(s.Shown, 200))}
}

func (k Known) since() string {
	if k.Cycle == "" {
		return "it was accepted"
	}
	return "cycle " + k.Cycle
}

// shownURL is an address without what may be secret in it.
func shownURL(raw string) string {
	if raw == "" {
		return "not set"
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "unreadable"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return text.Line(strings.TrimSuffix(u.String(), "?"), 200)
}

func hash(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// Written says whether a verb left a file so, at a person's word: nobody needs to
// be told of that.
func (k Known) Written(name, sum string) bool {
	return sum != "" && k.accepted.Written[name] == sum
}

// Write puts down that a verb left a file so. That counts for what a cycle finds
// when it wakes: in a cycle a tool can call the verb, too.
func Write(h home.Home, f disk.FS, name, sum string) error {
	return Accept(h, f, func(t *journal.Trust) { t.Written = map[string]string{name: sum} })
}
