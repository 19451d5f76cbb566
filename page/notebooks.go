package page

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rouse/internal/text"
)

const (
	cellsShown  = 10
	outputShown = 20_000 // characters
)

// listNotebooks shows what notebooks there are.
func (v *visit) listNotebooks() (sheet, error) {
	list, err := v.home.Written().List()
	wrong := ""
	if err != nil { // the others are there
		wrong = v.hide(err.Error())
	}
	return sheet{template: "notebooks", title: "Notebooks", data: map[string]any{"List": list, "Wrong": wrong}}, nil
}

// showNotebook shows its last cells, or those before one.
func (v *visit) showNotebook() (sheet, error) {
	name := v.PathValue("name")
	store, err := v.home.Written().Store(name)
	if err != nil {
		return sheet{}, wrong{http.StatusNotFound, err}
	}
	hide := v.home.Hidden()
	cells, older, err := store.Recent(int(v.number("before", 0)), cellsShown, func(s string) string { return text.Middle(hide.String(s), outputShown) })
	d := map[string]any{"Name": name, "Cells": cells, "Older": older, "Wrong": "", "Most": time.Duration(v.home.Config.Notebook.Timeout)}
	if err != nil { // those before it are there
		d["Wrong"] = v.hide(err.Error())
	}
	return sheet{template: "notebook", title: "Notebook " + name, data: d}, nil
}

// showCellPicture is a picture that a cell drew, alone.
func (v *visit) showCellPicture() (sheet, error) {
	number, _ := strconv.Atoi(v.PathValue("cell")) // no cell is 0
	c, err := v.home.Cell(v.PathValue("name"), number)
	if err != nil {
		return sheet{}, wrong{http.StatusNotFound, err}
	}
	n, failed := strconv.Atoi(v.PathValue("n"))
	if failed != nil || n < 0 || n >= len(c.Pictures) || picture(c.Pictures[n].Data) == "" {
		return sheet{}, wrong{http.StatusNotFound, errors.New("this cell has no such picture")}
	}
	return v.send(picture(c.Pictures[n].Data), func() error { _, err := v.w.Write(c.Pictures[n].Data); return err })
}

// tableStyle shows the tables of cells as those of pages are.
const tableStyle = "<!doctype html><meta charset=utf-8><title>Table</title><style>:root{color-scheme:light dark;font:14px system-ui,sans-serif}table{border-collapse:collapse}th,td{border:1px solid #888;padding:.2em .5em;text-align:left}</style>\n"

// showTable is a cell's HTML for a frame, in which it can do nothing.
func (v *visit) showTable() (sheet, error) {
	number, _ := strconv.Atoi(v.PathValue("cell"))
	c, err := v.home.Cell(v.PathValue("name"), number)
	if err != nil {
		return sheet{}, wrong{http.StatusNotFound, err}
	}
	return v.send("text/html; charset=utf-8", func() error { _, err := io.WriteString(v.w, tableStyle+v.home.Hidden().String(c.Table())); return err })
}

// runCell runs a cell, which ends with whoever waits for it.
func (v *visit) runCell() (sheet, error) {
	name := v.PostFormValue("name")
	// The time for reading a request does not bound the cell.
	_ = http.NewResponseController(v.w).SetReadDeadline(time.Time{})
	c, err := v.home.RunCell(v.Context(), name, strings.ReplaceAll(v.PostFormValue("code"), "\r\n", "\n"))
	if err != nil {
		return sheet{}, wrong{http.StatusConflict, err}
	}
	said := fmt.Sprintf("cell %d ran: %s", c.Number, c.Ended)
	for _, r := range c.Refused {
		said += fmt.Sprintf("; the sandbox refused: %s", r)
	}
	return sheet{to: v.path("notebooks", name) + fmt.Sprintf("#cell-%d", c.Number), said: v.hide(said)}, nil
}
