package conversation

import "rouse/agent/model"

// Est estimates how many tokens a text is for today's models, without their
// tables: it counts runs of letters, digits, blanks and signs as tokenizers of
// the BPE kind cut them. It was fitted to o200k on prose, code, logs and JSON,
// where it is within a tenth or so; long random texts it takes for a third less.
func Est(s string) int {
	n := 0 // in twelfths of a token
	for i := 0; i < len(s); {
		j, cost := run(s, i)
		n += cost
		i = j
	}
	return (n + 11) / 12
}

// run is one run of bytes of the same kind from i: its end and its cost.
func run(s string, i int) (end, cost int) {
	j := i + 1
	switch c := s[i]; {
	case isLetter(c):
		for j < len(s) && isLetter(s[j]) {
			j++
		}
		return j, word(s[i:j])
	case isDigit(c):
		for j < len(s) && isDigit(s[j]) {
			j++
		}
		return j, (j - i + 2) / 3 * 12
	case isBlank(c):
		for j < len(s) && isBlank(s[j]) {
			j++
		}
		if j-i > 1 || c != ' ' {
			return j, 8
		}
		if j < len(s) && isDigit(s[j]) {
			return j, 12
		}
		return j, 0 // a space is part of the word behind it
	case c >= 0x80:
		for j < len(s) && s[j] >= 0x80 {
			j++
		}
		return j, max(12, (j-i)*12/4)
	}
	for j < len(s) && s[j] < 0x80 && !isLetter(s[j]) && !isDigit(s[j]) && !isBlank(s[j]) {
		j++
	}
	return j, 9 + (j-i-1)*4
}

// word is the cost of a run of letters.
func word(w string) int {
	changes := 0 // of case, as in base64 and hashes
	for k := 1; k < len(w); k++ {
		if isUpper(w[k]) && !isUpper(w[k-1]) {
			changes++
		}
	}
	switch {
	case len(w) > 24:
		return len(w) * 6
	case changes > 2:
		return len(w) * 4
	case len(w) <= 2:
		return 10
	}
	return 12 + max(0, len(w)-6)*12/9
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isBlank(c byte) bool  { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// perMessage is what a message costs beside its text, and perImage what a
// picture costs, in tokens.
const (
	perMessage = 6
	perImage   = 1200
)

func estMessage(m model.Message) int {
	n := perMessage + Est(m.Content) + perImage*len(m.Images) + len(m.Kept)/4
	for _, c := range m.Calls {
		n += perMessage + Est(c.Name) + Est(string(c.Args))
	}
	return n
}

func estTools(list []model.Tool) (n int) {
	for _, t := range list {
		n += perMessage + Est(t.Name) + Est(t.Description) + Est(string(t.Parameters))
	}
	return n
}

// EstRequest estimates the tokens of a request.
func EstRequest(r model.Request) int { return estRequest(r) }

// estRequest is what a request costs.
func estRequest(r model.Request) int {
	n := estTools(r.Tools)
	for _, m := range r.Messages {
		n += estMessage(m)
	}
	return n
}

// gauge corrects the estimate by what the server counts.
type gauge struct {
	ratio float64 // of what was counted to what was estimated; 0: none yet
	last  int     // estimate of the last request, not corrected
	// pictured says that the last request showed pictures: servers count these as
	// they like, which says nothing of the text that stays.
	pictured bool
}

// margin is added while nothing is known of the model.
const margin = 1.15

// tokens is an estimate, corrected.
func (g *gauge) tokens(est int) int {
	if g.ratio == 0 {
		return int(float64(est) * margin)
	}
	return int(float64(est) * g.ratio)
}

// used tells how many tokens the server counted in the last request; 0 where it
// did not say.
func (g *gauge) used(input int) {
	if input <= 0 || g.last <= 0 || g.pictured {
		return
	}
	g.ratio = min(max(float64(input)/float64(g.last), 0.5), 4)
}
