package page

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"rouse/agent/approval"
	"rouse/home"
	"rouse/internal/disk"
	"rouse/internal/jsonl"
	"rouse/internal/text"
)

// deed is a line of the log of who did what on the page.
type deed struct {
	V       int       `json:"v"`
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Role    Role      `json:"role"`
	From    string    `json:"from"` // the address
	What    string    `json:"what"` // the button
	On      string    `json:"on"`   // what it was pressed for, such as a cycle
	OK      bool      `json:"ok"`   // else refused, or it failed
	Said    string    `json:"said"` // what was done, or why not
}

// logged puts down what somebody did, or was refused. Where that cannot be, it says so.
func (v *visit) logged(a sheet, failed error) (sheet, error) {
	_, what, _ := strings.Cut(v.Pattern, "{home}/")
	what, _, _ = strings.Cut(what, "/")
	d := deed{V: 1, Time: v.Now(), Session: v.who.id, Role: v.who.role, From: v.from(), What: what, OK: failed == nil, Said: v.hide(a.said)}
	if failed != nil {
		d.Said = v.hide(failed.Error())
	}
	d.On = v.hide(cmp.Or(v.PathValue("cycle"), v.PathValue("id"), v.PostFormValue("cycle"), v.PostFormValue("id")))
	if reply := v.PostFormValue("decision"); what == "approvals" && (reply == approval.Approve || reply == approval.Deny) {
		d.What = reply
	}
	line, err := jsonl.Marshal(d)
	if err == nil {
		err = jsonl.Append(disk.OS{}, v.home.Home.Acts(), line, true)
	}
	if err != nil {
		v.Server.Say(v.name + ": who did what cannot be written down: " + v.hide(err.Error()))
	}
	return a, failed
}

// from is the address that a request came from, and before the proxy that passed it on.
func (v *visit) from() string {
	host, _, _ := net.SplitHostPort(v.RemoteAddr)
	if via := v.Header.Values("X-Forwarded-For"); v.Secure && len(via) > 0 {
		list := strings.Split(via[len(via)-1], ",") // proxies add to the end
		host = strings.TrimSpace(list[len(list)-1]) + " by " + host
	}
	return text.Line(host, 100)
}

const (
	shownDeeds = 200
	deedBytes  = 200 << 10 // in which there mostly are so many
)

// showActs shows who did what on the page, the newest first.
func (v *visit) showActs() (sheet, error) {
	list, err := deeds(v.home.Home)
	return sheet{template: "acts", title: "Who did what", data: list}, err
}

func deeds(h home.Home) (list []deed, err error) {
	_, err = jsonl.Tail(h.Acts(), deedBytes, func(lines []byte) bool {
		list = nil
		for d, err := range jsonl.Values[deed](bytes.NewReader(lines)) {
			if err == nil {
				list = append(list, d)
			}
		}
		return len(list) >= shownDeeds
	})
	slices.Reverse(list)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return list[:min(len(list), shownDeeds)], err
}
