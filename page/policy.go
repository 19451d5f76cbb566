package page

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rouse/internal/sandbox"
	"rouse/setup"
	"rouse/setup/doctor"
	"rouse/setup/report"
)

// allowed are the kinds of what a button allows.
func allowed() []string { return []string{sandbox.Host, sandbox.Read, sandbox.Write} }

// wanted is what the sandbox refused, in two words if a button allows it.
type wanted struct {
	report.Wanted
	Kind, Name string
}

// holding is what holds for calls and for the processes of tools, and what they wanted.
type holding struct {
	Posture, Asks, Open string
	Rulings             []setup.Ruling
	Walls               []setup.Check
	Allowed             []setup.Allowed
	Kinds               []string
	Refused             []wanted
	Denied              []report.Call
}

// showPolicy shows what holds now, and what was refused in a week.
func (v *visit) showPolicy() (sheet, error) {
	d := holding{Posture: v.home.PostureWords(), Walls: doctor.Walls(v.home), Kinds: allowed()}
	if err := v.home.Asks(); err != nil {
		d.Asks = v.hide(err.Error())
	}
	d.Allowed, d.Open = v.home.Allowed()
	var err error
	if d.Rulings, err = v.home.Rulings(); err != nil {
		return sheet{}, err
	}
	r, err := report.Since(v.home, "7d")
	for _, w := range r.Wanted {
		w.Mend = strings.TrimLeft(w.Mend, ",; ")
		kind, name, _ := strings.Cut(w.What, " ")
		if !slices.Contains(allowed(), kind) {
			kind = ""
		} else if got, _, err := v.home.Allow(kind, name); err != nil { // which only says what would be
			kind = ""
		} else if !got.Added {
			kind, w.Mend = "", "it is allowed now"
		}
		d.Refused = append(d.Refused, wanted{w, kind, name})
	}
	for _, c := range r.Calls {
		if c.How == report.CallDenied || c.How == report.CallAsked {
			d.Denied = append(d.Denied, c)
		}
	}
	return sheet{template: "policy", title: "Policy and sandbox", data: d}, err
}

// allowing is what a button is to allow.
func (v *visit) allowing() (kind, what string, err error) {
	kind, what = v.PostFormValue("kind"), strings.TrimSpace(v.PostFormValue("what"))
	if !slices.Contains(allowed(), kind) || kind != sandbox.Host && !filepath.IsAbs(what) && !strings.HasPrefix(what, "~/") {
		err = wrong{http.StatusBadRequest, errors.New("say a host, or the whole path of a file or folder to be read or written")}
	}
	return kind, what, err
}

// allow adds a line to the lists of the sandbox, as `rouse allow` does.
func (v *visit) allow() (sheet, error) {
	kind, what, err := v.allowing()
	if err != nil {
		return sheet{}, err
	}
	before, err := os.ReadFile(v.home.Home.Config())
	if err != nil {
		return sheet{}, err
	}
	got, now, err := v.home.Allow(kind, what)
	if err != nil {
		return sheet{}, wrong{http.StatusBadRequest, fmt.Errorf("allow %s: %w", kind, err)}
	}
	said := got.String()
	if got.Added {
		said += "; it has the line " + strings.Join(setup.Wrote(before, now), ", ")
		err = v.home.WriteConfig(now)
	}
	return sheet{to: v.path("policy"), said: said}, err
}
