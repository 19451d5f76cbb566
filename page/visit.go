package page

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"rouse/home"
	"rouse/internal/text"
	"rouse/setup"
)

// visit is a request of somebody who may make it.
type visit struct {
	*http.Request
	*Server
	w    http.ResponseWriter
	who  session
	name string       // of the home, in paths
	home *setup.Setup // nil on pages of no home
}

// sheet is what a visit is answered with: a template with its data, or where else to look.
type sheet struct {
	template, title string
	data            any
	// to is where to look now, and said what was done, for that page.
	to, said string
	// With an error, a template shows that itself.
	// done says that the page answered by itself.
	done bool
}

// wrong is an error of whoever asked, with its code.
type wrong struct {
	code int
	error
}

// visit answers by p those who may do what role says, and shows others how to log in.
func (s *Server) visit(role Role, p func(*visit) (sheet, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := s.doors.who(s.cookie(r))
		if !ok {
			to := ""
			if r.Method == http.MethodGet {
				to = "?to=" + url.QueryEscape(r.URL.RequestURI())
			}
			http.Redirect(w, r, "/login"+to, http.StatusSeeOther)
			return
		}
		v := &visit{Request: r, Server: s, w: w, who: who, name: r.PathValue("home")}
		answer, err := sheet{}, error(nil)
		switch {
		case !who.role.may(role):
			err = wrong{http.StatusForbidden, errors.New("you may look, but not act: log in with a link or token that may")}
		case v.name != "":
			v.home, err = s.find(v.name)
		}
		if err == nil {
			answer, err = p(v)
			if role == Act && v.home != nil {
				answer, err = v.logged(answer, err)
			}
		}
		v.answer(answer, err)
	})
}

// answer shows what a page found.
func (v *visit) answer(a sheet, err error) {
	switch {
	case a.done:
		return
	case err != nil && a.template == "":
		a = sheet{template: "error", title: "This did not work", data: v.hide(err.Error())}
		if errors.As(err, new(unopened)) {
			a.title = v.name + " cannot be opened"
		}
	case a.to != "":
		v.doors.say(v.cookie(v.Request), v.hide(a.said))
		http.Redirect(v.w, v.Request, a.to, http.StatusSeeOther)
		return
	}
	f := frame{Role: v.who.role, Path: v.URL.Path, Said: v.doors.say(v.cookie(v.Request), ""), visit: v}
	if v.home != nil || code(err) == http.StatusForbidden {
		f.Home = v.name // which has pages to lead to
	}
	v.show(v.w, code(err), a, f)
}

// code is that of an answer with an error: what the machine refuses is the server's failure, all else
// is what the files of a home say, and a person can mend.
func code(err error) int {
	w, ok := errors.AsType[wrong](err)
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, new(unopened)):
		return http.StatusUnprocessableEntity
	case ok:
		return w.code
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	case errors.Is(err, home.ErrAwake):
		return http.StatusConflict
	case errors.As(err, new(syscall.Errno)) && !errors.Is(err, fs.ErrPermission):
		return http.StatusInternalServerError
	}
	return http.StatusUnprocessableEntity
}

// hide takes secrets out of what is said about a home.
func (v *visit) hide(said string) string {
	if v.home != nil {
		said = v.home.Hidden().String(said)
	}
	return text.Line(said, 1000)
}

// path is that of a page of the home that is visited.
func (v *visit) path(parts ...string) string { return homePath(v.name, parts...) }

// homePath is the path of a page of a home.
func homePath(name string, parts ...string) string {
	path := "/h/" + url.PathEscape(name)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// cycle is the one that the path names.
func (v *visit) cycle() (string, error) {
	id := v.PathValue("cycle")
	if !home.ValidCycle(id) || !v.home.Home.Knows(id) {
		return "", fmt.Errorf("there is no cycle %.40q: %w", id, fs.ErrNotExist)
	}
	return id, nil
}

// local is a path of this server, "" for anything else.
func local(to string) string {
	if u, err := url.Parse(to); err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsRune(to, '\\') {
		return ""
	}
	return to
}

// named is a home with the name that it has in paths.
type named struct {
	Name, Dir string
	kept      *Kept // in a fleet
}

// homes are those that there are now, by their folders, sorted. Of two with the same name the later has a number.
func (s *Server) homes() (list []named, err error) {
	if s.Fleet != nil {
		kept, err := s.Fleet.Homes()
		for _, k := range kept {
			list = append(list, named{k.Name, k.Dir, &k})
		}
		return list, err
	}
	dirs, err := home.Find(s.Dirs...)
	taken := map[string]int{}
	for _, dir := range dirs {
		name := cmp.Or(strings.Trim(filepath.Base(dir), "/."), "home")
		if taken[name]++; taken[name] > 1 {
			name = fmt.Sprintf("%s~%d", name, taken[name])
		}
		list = append(list, named{Name: name, Dir: dir})
	}
	return list, err
}

// unopened is why a home that is there cannot be opened.
type unopened struct{ error }

// Unwrap gives the cause.
func (e unopened) Unwrap() error { return e.error }

// find opens the home that has a name.
func (s *Server) find(name string) (*setup.Setup, error) {
	list, err := s.homes()
	for _, h := range list {
		if h.Name == name {
			opened, err := s.open(h)
			if err != nil {
				err = unopened{fmt.Errorf("%s: %w", h.Dir, err)}
			}
			return opened, err
		}
	}
	return nil, cmp.Or(err, fmt.Errorf("there is no home %.100q: %w", name, fs.ErrNotExist))
}
