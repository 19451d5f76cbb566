package page

import (
	"fmt"

	"rouse/agent/budget"
	"rouse/internal/text"
)

// meter is how much of a limit is used.
type meter struct {
	Name, Used, Limit string
	Share             float64
}

// Near says that little is left.
func (m meter) Near() string {
	switch {
	case m.Share >= 1:
		return "used up"
	case m.Share >= 0.8:
		return "nearly used up"
	}
	return ""
}

// meters are the limits of a day beside what was used on it.
func meters(limit budget.Amount, used budget.Row, currency string) (list []meter) {
	add := func(name, of string, used, limit float64, format string) {
		if limit > 0 {
			list = append(list, meter{name, fmt.Sprintf(format, used), fmt.Sprintf(format+" %s", limit, of), used / limit})
		}
	}
	add("tokens", "tokens", float64(used.Input+used.Output), float64(limit.Tokens), "%.0f")
	add("money", currency, float64(used.Money)/1e9, float64(limit.Money)/1e9, "%.4g")
	add("calls", "calls", float64(used.Calls), float64(limit.Calls), "%.0f")
	return list
}

// costWords is what was used in words.
func costWords(used budget.Row, currency string) string {
	words := text.Count(used.Input+used.Output, "token")
	if used.Priced && used.Money > 0 {
		words += fmt.Sprintf(", %.4f %s", float64(used.Money)/1e9, currency)
	}
	return words
}
