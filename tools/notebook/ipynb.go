package notebook

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// ipynbCell is a cell of nbformat 4.5, https://nbformat.readthedocs.io/en/latest/format_description.html.
type ipynbCell struct {
	Type     string           `json:"cell_type"`
	ID       string           `json:"id"`
	Metadata map[string]any   `json:"metadata"`
	Count    int              `json:"execution_count"`
	Source   string           `json:"source"`
	Outputs  []map[string]any `json:"outputs"`
}

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
	cell := ipynbCell{Type: "code", ID: c.ID, Count: c.Number, Source: c.Code, Outputs: []map[string]any{}, Metadata: map[string]any{
		"rouse": map[string]any{"description": c.Description, "time": c.Time, "ended": c.Ended, "duration_ms": c.Duration, "logs": c.Logs, "notes": c.Notes},
	}}
	add := func(kind string, output map[string]any) {
		output["output_type"] = kind
		cell.Outputs = append(cell.Outputs, output)
	}
	none := map[string]any{}
	if c.Stdout != "" {
		add("stream", map[string]any{"name": Stdout, "text": c.Stdout})
	}
	if c.Stderr != "" {
		add("stream", map[string]any{"name": Stderr, "text": c.Stderr})
	}
	for _, p := range c.Pictures {
		add("display_data", map[string]any{"data": map[string]any{p.Type: p.Data}, "metadata": none})
	}
	if c.Value != "" {
		data := map[string]any{"text/plain": c.Value}
		if c.HTML != "" {
			data["text/html"] = c.HTML
		}
		add("execute_result", map[string]any{"execution_count": c.Number, "data": data, "metadata": none})
	}
	if c.Error != "" {
		name, value, _ := strings.Cut(c.Failure(), ": ")
		add("error", map[string]any{"ename": name, "evalue": value, "traceback": strings.Split(c.Error, "\n")})
	}
	return cell
}
