// Package chart draws small pictures as SVG that stands in a page: without script, style or
// anything from elsewhere. What a mark says, its shape and its title say as well as its colour,
// so that they are read in grey and aloud. Colours are the classes good, bad, warn and quiet of
// the page, which set color; sizes are those of a phone, and a page may let them shrink.
package chart

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"rouse/internal/text"
)

// Looks of a [Mark]: each is a shape and a class.
const (
	Good  = "good"  // a full bar
	Bad   = "bad"   // a cross
	Warn  = "warn"  // a triangle
	Quiet = "quiet" // a short dash, for what was passed over
	Open  = "open"  // a ring, for what is not over
)

// Mark is one thing of a strip. Its title is shown where it is pointed at.
type Mark struct{ Look, Title string }

// shapes are drawn in a square of 12, in the colour of their class.
var shapes = [...]struct{ look, class, shape string }{
	{Good, Good, `<rect x="1" y="1" width="9" height="14" rx="2" fill="currentColor"/>`},
	{Bad, Bad, `<path d="M1.5 4l8 8m0-8l-8 8" stroke="currentColor" stroke-width="3" fill="none"/>`},
	{Warn, Warn, `<path d="M5.5 2l5 12H.5z" fill="currentColor"/>`},
	{Quiet, Quiet, `<rect x="2" y="11" width="7" height="3" fill="currentColor"/>`},
	{Open, Quiet, `<circle cx="5.5" cy="8" r="3.5" stroke="currentColor" stroke-width="2" fill="none"/>`},
}

// inRow is how many marks stand beside each other.
const inRow = 30

// Strip draws marks in their order, in rows. The title says in words what all of it shows.
func Strip(title string, marks []Mark) template.HTML {
	var b strings.Builder
	begin(&b, title, 12*inRow, 18*max(1, (len(marks)+inRow-1)/inRow))
	for i, m := range marks {
		for _, s := range shapes {
			if s.look == m.Look {
				fmt.Fprintf(&b, `<g class="%s" transform="translate(%d %d)"><title>%s</title>%s</g>`, s.class, i%inRow*12, i/inRow*18, words(m.Title), s.shape)
			}
		}
	}
	return template.HTML(b.String() + "</svg>")
}

// Bar is one amount. Its label stands below it if it is the first or the last one.
type Bar struct {
	Label, Title string
	Value        float64
}

// Line is an amount that bars are compared with, such as a limit; above it they are bad.
type Line struct {
	Label string
	Value float64
}

// Bars draws amounts beside each other, and a line across them unless its value is 0. The
// title says in words what all of it shows.
func Bars(title string, bars []Bar, line Line) template.HTML {
	const width, height, top = 360.0, 80.0, 16.0
	most := line.Value
	for _, bar := range bars {
		most = max(most, bar.Value)
	}
	scale := 0.0
	if most > 0 {
		scale = height / most
	}
	var b strings.Builder
	begin(&b, title, width, top+height+16)
	each := width / float64(max(len(bars), 1))
	for i, bar := range bars {
		class, tall := Good, max(bar.Value*scale, 1)
		if line.Value > 0 && bar.Value > line.Value {
			class = Bad
		}
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="currentColor"><title>%s</title></rect>`,
			class, float64(i)*each+1, top+height-tall, max(min(each, 48)-2, 1), tall, words(bar.Title))
		if i == 0 || i == len(bars)-1 {
			fmt.Fprintf(&b, `<text class="quiet" x="%.1f" y="%.1f" font-size="12" fill="currentColor">%s</text>`, min(float64(i)*each, width-60), top+height+13, words(bar.Label))
		}
	}
	if y := top + height - line.Value*scale; line.Value > 0 {
		fmt.Fprintf(&b, `<path class="warn" d="M0 %.1fH%.0f" stroke="currentColor" stroke-dasharray="6 3"/>`, y, width)
		fmt.Fprintf(&b, `<text class="warn" x="0" y="%.1f" font-size="12" fill="currentColor">%s</text>`, y-4, words(line.Label))
	}
	return template.HTML(b.String() + "</svg>")
}

func begin(b *strings.Builder, title string, width, height any) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%v" height="%v" viewBox="0 0 %[1]v %[2]v"><title>%s</title>`, width, height, words(title))
}

// words is a text that anybody may have worded, as SVG has it.
func words(s string) string { return html.EscapeString(text.Line(s, 300)) }
