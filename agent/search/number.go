package search

import (
	"slices"
	"time"

	"rouse/home"
)

// source is where a text is from.
type source int64

const (
	journals source = iota
	archive
	dropped
	droppedOld
)

// Bits of a row's number, from the last one: kind, place, source, second.
const (
	kindBits, placeBits, sourceBits = 3, 20, 2
	placeAt                         = kindBits
	sourceAt                        = placeAt + placeBits
	secondAt                        = sourceAt + sourceBits
	maxRows                         = 1 << placeBits // of a cycle and source
)

// first is the least number that a row of a cycle has, 0 for what is none.
func first(cycle string) int64 {
	t, err := time.Parse(home.CycleForm, cycle)
	if err != nil {
		return 0
	}
	return max(0, t.Unix()) << secondAt
}

// span are the numbers of the rows of a cycle from one source.
func span(cycle string, s source) (from, to int64) {
	from = first(cycle) | int64(s)<<sourceAt
	return from, from + 1<<sourceAt - 1
}

func number(cycle string, s source, place int, k Kind) int64 {
	from, _ := span(cycle, s)
	return from | int64(place&(maxRows-1))<<placeAt | int64(slices.Index(Kinds(), k))
}

// parts are what a number is made of.
func parts(number int64) (cycle string, s source, k Kind) {
	cycle = time.Unix(number>>secondAt, 0).UTC().Format(home.CycleForm)
	all := Kinds()
	return cycle, source(number >> sourceAt & (1<<sourceBits - 1)), all[number&(1<<kindBits-1)%int64(len(all))]
}
