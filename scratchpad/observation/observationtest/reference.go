package observationtest

import (
	"bytes"
	"regexp"
	"slices"

	"rouse/scratchpad/observation"
)

// Reference answers from a plain string in memory what a content answers.
type Reference struct {
	data  []byte
	chars []int // where each character begins, and the end
	lines []int // the same for lines
}

// NewReference is that of a content.
func NewReference(data []byte) Reference {
	r := Reference{data: data}
	for i := range string(data) {
		r.chars = append(r.chars, i)
	}
	for i := 0; i < len(data); {
		r.lines = append(r.lines, i)
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			i += n + 1
		} else {
			i = len(data)
		}
	}
	r.chars, r.lines = append(r.chars, len(data)), append(r.lines, len(data))
	return r
}

// Slice is what Slice gives where nothing is too large.
func (r Reference) Slice(u observation.Unit, start, end int64) observation.Part {
	base, at := int64(0), r.chars
	switch u {
	case observation.Lines:
		base, at = 1, r.lines
	case observation.Bytes:
		at = nil
	}
	total := int64(len(r.data))
	if at != nil {
		total = int64(len(at) - 1)
	}
	start = min(max(start, base), total+base)
	end = min(max(end, start), total+base)
	from, to := int(start-base), int(end-base)
	if at != nil {
		from, to = at[from], at[to]
	}
	char, _ := slices.BinarySearch(r.chars, from)
	if from == to {
		char = len(r.chars) - 1
	}
	return observation.Part{Unit: u, Start: start, End: end, Total: total, Data: append([]byte{}, r.data[from:to]...), Char: int64(char)}
}

// Grep gives the numbers of the lines that match.
func (r Reference) Grep(re *regexp.Regexp) (lines []int64) {
	for i := range r.lines[1:] {
		line := r.data[r.lines[i]:r.lines[i+1]]
		if re.Match(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))) {
			lines = append(lines, int64(i+1))
		}
	}
	return lines
}
