package page

import (
	"hash/fnv"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rouse/internal/clock"
)

// onPage is how many homes are shown at once.
const onPage = 200

// listing is a page of the list of homes.
type listing struct {
	Rows           template.HTML
	All, Found     int
	Needs          int // of those shown that need a person
	Find           string
	Page           int
	Newer, Further string // the pages before and after it
	Live           string
	Fleet          bool
}

// listHomes shows a row for each home.
func (v *visit) listHomes() (sheet, error) {
	l, _, err := v.listed()
	return sheet{template: "homes", title: "Homes", data: l}, err
}

// followFor is how long the list is kept up to date; then the browser asks again, if it may still.
const followFor = 10 * time.Minute

// followHomes sends the list anew when one of its homes has changed.
func (v *visit) followHomes() (sheet, error) {
	defer v.streams.Add(-1)
	if err := v.streamed(); err != nil {
		return sheet{}, err
	}
	s, last, end := &stream{visit: v, conn: http.NewResponseController(v.w)}, uint64(0), time.Now().Add(followFor)
	for err := s.begin(); err == nil && time.Now().Before(end); err = s.flush() {
		l, sum, _ := v.listed() // what is wrong is seen when the page is asked for
		if sum != last {
			s.event("set", 0, string(l.Rows))
			last = sum
		} else if time.Since(s.sent) > breath {
			s.write(":\n\n")
		}
		if s.flush() != nil || !clock.Pause(v.Context(), 2*time.Second) {
			break
		}
	}
	return sheet{done: true}, nil
}

// listed is the page that is asked for, with a number that changes when one of its rows does.
func (v *visit) listed() (l listing, sum uint64, err error) {
	list, err := v.known()
	if err != nil {
		return l, 0, err
	}
	l.Fleet = v.Fleet != nil
	l.All, l.Find = len(list), strings.TrimSpace(v.FormValue("find"))
	l.Page, _ = strconv.Atoi(v.FormValue("page"))
	var rows []shown
	if l.Found = l.All; l.Find != "" {
		for _, r := range v.look(list) {
			if strings.Contains(r.words, strings.ToLower(l.Find)) {
				rows = append(rows, r)
			}
		}
		l.Found = len(rows)
		rows = pageOf(rows, &l.Page)
	} else {
		rows = v.look(pageOf(list, &l.Page))
	}
	h, b := fnv.New64a(), strings.Builder{}
	for _, r := range rows {
		b.WriteString(string(r.html))
		h.Write(strconv.AppendInt([]byte(r.dir+"\x00"), int64(r.number), 10))
		if r.needs {
			l.Needs++
		}
	}
	l.Rows = template.HTML(b.String())
	if l.Page > 1 {
		l.Newer = l.path("/", l.Page-1)
	}
	if l.Page*onPage < l.Found {
		l.Further = l.path("/", l.Page+1)
	}
	l.Live = l.path("/live", l.Page)
	return l, h.Sum64(), nil
}

// pageOf is a page of a list; one behind its end is the last one.
func pageOf[T any](list []T, page *int) []T {
	*page = max(1, min(*page, (len(list)+onPage-1)/onPage))
	from := min((*page-1)*onPage, len(list))
	return list[from:min(from+onPage, len(list))]
}

func (l listing) path(path string, page int) string {
	q := url.Values{"page": {strconv.Itoa(page)}}
	if l.Find != "" {
		q.Set("find", l.Find)
	}
	return path + "?" + q.Encode()
}
