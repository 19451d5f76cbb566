package page

import "rouse/setup/report"

// showHome shows one home: what happened since yesterday, and how it stands.
func (v *visit) showHome() (sheet, error) {
	r, err := report.Since(v.home, "24h")
	return sheet{template: "home", title: v.name, data: r}, err
}
