package page

// listHomes shows a row for each home.
func (v *visit) listHomes() (sheet, error) {
	list, err := v.homes()
	return sheet{template: "homes", title: "Homes", data: list}, err
}
