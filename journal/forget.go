package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"rouse/internal/lazy"
)

// Forget gives a journal as it is with each line edited. What its chain, which must be a
// new one, proved is sealed anew, and its ends say how many lines were changed; what the
// chain did not prove is still in doubt.
func Forget(path string, key []byte, cycle string, edit func([]byte) []byte) (now []byte, changed int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	r := remaking{was: NewChain(key, cycle), is: NewChain(key, cycle), edit: edit}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		made := r.line(line, number)
		if json.Valid(line) && !json.Valid(made) {
			return nil, 0, fmt.Errorf("%s line %d would be none without it", path, number)
		}
		now = append(now, made...)
		if bytes.HasSuffix(line, []byte("\n")) {
			now = append(now, '\n')
		}
	}
	return now, r.changed, nil
}

// remaking makes a journal anew.
type remaking struct {
	was, is *Chain
	edit    func([]byte) []byte
	doubts  Doubts // as they were
	edited  Doubts // as they are
	changed int
}

func (r *remaking) line(raw []byte, number int) []byte {
	line := bytes.TrimSuffix(raw, []byte("\n"))
	l, ok := r.was.check(raw, number)
	if !ok || l.Doubt != "" || r.was.key == nil {
		now := r.edit(line)
		r.count(line, now)
		if ok {
			r.doubts.Add(l)
			l.Line = bytes.TrimSpace(now)
			r.edited.Add(l)
		}
		return now
	}
	body := append(bytes.Clone(line[:len(line)-macSize]), '}')
	now := r.edit(body)
	r.count(body, now)
	if s, ok := l.Data.(*Sleep); ok {
		now = r.sleep(now, s)
	}
	r.doubts.Add(l)
	if len(r.doubts) == 0 {
		r.edited = nil
	}
	sealed := r.is.seal(now)
	r.is.goOn(sealed)
	return sealed
}

func (r *remaking) count(was, now []byte) {
	if !bytes.Equal(was, now) {
		r.changed++
	}
}

var forgotten = lazy.Regexp{Expr: `,"forgotten":[0-9]+`}

// sleep says in the end of a journal what was done to it. What a person vouched for
// stays so.
func (r *remaking) sleep(body []byte, s *Sleep) []byte {
	if s.Vouched != nil && s.Vouched.Sum == r.doubts.Sum() {
		body = bytes.Replace(body, []byte(s.Vouched.Sum), []byte(r.edited.Sum()), 1)
	}
	if r.changed == 0 {
		return body
	}
	body = forgotten.Get().ReplaceAll(body, nil)
	return append(strconv.AppendInt(fmt.Append(body[:len(body)-1], `,"forgotten":`), int64(r.changed+s.Forgotten), 10), '}')
}
