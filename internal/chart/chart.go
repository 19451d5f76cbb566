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

// Mark is one thing of a strip. Its title is shown where it is pointed at; those without one
// are drawn together, which is small.
type Mark struct{ Look, Title string }

// shapes are paths from a point on, in the colour of their class, filled or drawn as wide as a line.
var shapes = [...]struct {
	look, class string
	x, y        float64
	path        string
	line        int
}{
	{Good, Good, 1, 1, "h9v14h-9z", 0},
	{Bad, Bad, 1.5, 4, "l8 8m0-8l-8 8", 3},
	{Warn, Warn, 5.5, 2, "l5 12h-10z", 0},
	{Quiet, Quiet, 2, 11, "h7v3h-7z", 0},
	{Open, Quiet, 2, 8, "a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0", 2},
}

// inRow is how many marks stand beside each other.
const inRow = 30

// Strip draws marks in their order, in rows. The title says in words what all of it shows.
func Strip(title string, marks []Mark) template.HTML {
	var b strings.Builder
	begin(&b, title, 12*inRow, 18*max(1, (len(marks)+inRow-1)/inRow))
	for _, s := range shapes {
		paint := `fill="currentColor"`
		if s.line > 0 {
			paint = fmt.Sprintf(`stroke="currentColor" stroke-width="%d" fill="none"`, s.line)
		}
		plain := ""
		for i, m := range marks {
			at := fmt.Sprintf("M%v %v%s", s.x+float64(i%inRow*12), s.y+float64(i/inRow*18), s.path)
			switch {
			case m.Look != s.look:
			case m.Title == "":
				plain += at
			default:
				fmt.Fprintf(&b, `<path class="%s" d="%s" %s><title>%s</title></path>`, s.class, at, paint, words(m.Title))
			}
		}
		if plain != "" {
			fmt.Fprintf(&b, `<path class="%s" d="%s" %s/>`, s.class, plain, paint)
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
