package page

import (
	"errors"

	"rouse/agent/search"
)

// hitsShown is how many texts a search shows, the newest.
const hitsShown = 100

// search finds what cycles wrote and did. As with the verb, the index takes in what is new
// meanwhile: the home's files say all that is in it, so that this GET, too, changes nothing.
func (v *visit) search() (sheet, error) {
	d := struct {
		Query, Since, Kind, Wrong string
		Kinds                     []search.Kind
		search.Found
	}{Query: v.param("q"), Since: v.param("since"), Kind: v.param("kind"), Kinds: search.Kinds()}
	q, err := search.NewQuery(d.Query, d.Since, d.Kind, v.Now())
	if err == nil && d.Query != "" {
		q.Limit = hitsShown
		d.Found, err = v.home.Search().Find(v.Context(), q)
		d.Note = v.hide(d.Note)
	}
	if errors.As(err, new(*search.QueryError)) {
		d.Wrong, err = err.Error(), nil
	}
	return sheet{template: "search", title: "Search", data: d}, err
}
