package notebook

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// The shapes of nbformat 4.5, https://nbformat.readthedocs.io/en/latest/format_description.html.
type (
	ipynbCell struct {
		Type     string         `json:"cell_type"`
		ID       string         `json:"id"`
		Metadata map[string]any `json:"metadata"`
		Count    int            `json:"execution_count"`
		Source   string         `json:"source"`
		Outputs  []any          `json:"outputs"`
	}
	ipynbStream struct {
		Type string `json:"output_type"`
		Name Stream `json:"name"`
		Text string `json:"text"`
	}
	ipynbData struct {
		Type     string         `json:"output_type"`
		Count    *int           `json:"execution_count,omitempty"`
		Data     map[string]any `json:"data"`
		Metadata map[string]any `json:"metadata"`
	}
	ipynbError struct {
		Type      string   `json:"output_type"`
		Name      string   `json:"ename"`
		Value     string   `json:"evalue"`
		Traceback []string `json:"traceback"`
	}
)

const (
	ipynbHead = `{"nbformat":4,"nbformat_minor":5,"metadata":{"kernelspec":{"display_name":"Python 3","language":"python","name":"python3"},"language_info":{"name":"python"}},"cells":[`
	ipynbTail = "\n]}\n"
)

// Ipynb writes the cells as a Jupyter notebook, format 4.5.
func (s Store) Ipynb(w io.Writer) error {
	if _, err := io.WriteString(w, ipynbHead); err != nil {
		return err
	}
	number, seen := 0, map[string]bool{}
	err := s.Each(func(c Cell) error {
		between := ",\n"
		if number++; number == 1 {
			between = "\n"
		}
		cell := c.ipynb()
		if cell.ID == "" || seen[cell.ID] {
			cell.ID = fmt.Sprintf("cell-%d", number)
		}
		seen[cell.ID] = true
		b, err := json.Marshal(cell)
		if err == nil {
			_, err = w.Write(append([]byte(between), b...))
		}
		return err
	})
	if err == nil {
		_, err = io.WriteString(w, ipynbTail)
	}
	return err
}

func (c Cell) ipynb() ipynbCell {
	cell := ipynbCell{Type: "code", ID: c.ID, Count: c.Number, Source: c.Code, Outputs: []any{}, Metadata: map[string]any{
		"rouse": map[string]any{"description": c.Description, "time": c.Time, "ended": c.Ended, "duration_ms": c.Duration, "logs": c.Logs, "notes": c.Notes},
	}}
	stream := func(name Stream, text string) {
		if text != "" {
			cell.Outputs = append(cell.Outputs, ipynbStream{"stream", name, text})
		}
	}
	stream(Stdout, c.Stdout)
	stream(Stderr, c.Stderr)
	for _, p := range c.Pictures {
		cell.Outputs = append(cell.Outputs, ipynbData{Type: "display_data", Data: map[string]any{p.Type: p.Data}, Metadata: map[string]any{}})
	}
	if c.Value != "" {
		cell.Outputs = append(cell.Outputs, ipynbData{"execute_result", &c.Number, map[string]any{"text/plain": c.Value}, map[string]any{}})
	}
	if c.Error != "" {
		name, value, _ := strings.Cut(c.Failure(), ": ")
		cell.Outputs = append(cell.Outputs, ipynbError{"error", name, value, strings.Split(c.Error, "\n")})
	}
	return cell
}
