package budget

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"rouse/internal/disk"
	"rouse/internal/lazy"
	"rouse/internal/yamlerror"
	"rouse/journal"
)

// Money is an amount in billionths of a currency's unit.
type Money int64

const billion = 1_000_000_000

// String is the amount as a decimal number of units, such as 0.25.
func (m Money) String() string {
	text := strconv.FormatFloat(float64(m)/billion, 'f', 9, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// MarshalJSON writes a number of units.
func (m Money) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalYAML reads a limit: a number of units above 0, such as 0.25.
func (m *Money) UnmarshalYAML(n *yaml.Node) error {
	v, err := ParseMoney(n.Value)
	if err != nil || v <= 0 {
		return fmt.Errorf("line %d: %q is not an amount of money above 0, such as 0.25; leave the key out for no limit", n.Line, n.Value)
	}
	*m = v
	return nil
}

// UnmarshalJSON reads a number of units.
func (m *Money) UnmarshalJSON(data []byte) (err error) {
	*m, err = ParseMoney(string(data))
	return err
}

// ParseMoney reads a number of units, to the billionth.
func ParseMoney(text string) (Money, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > 1e9 {
		return 0, fmt.Errorf("%q is not an amount of money; write a number such as 0.25", text)
	}
	return Money(math.Round(v * billion)), nil
}

// Count is a number of tokens or calls.
type Count int64

// UnmarshalYAML reads a limit, which may be written as 200_000. It refuses 0, which
// would not mean what it seems to.
func (c *Count) UnmarshalYAML(n *yaml.Node) error {
	v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64)
	if err != nil || v <= 0 || v > 1e15 {
		return fmt.Errorf("line %d: %q is not a whole number above 0; leave the key out for no limit", n.Line, n.Value)
	}
	*c = Count(v)
	return nil
}

// Price is what a million tokens cost: of input, of what of it was read from a cache,
// of what of it was written into one, and of output, reasoning included.
type Price struct{ Input, Cached, Written, Output Money }

// Cost is what a reply costs, rounded up.
func (p Price) Cost(used journal.Usage) Money {
	cached := min(used.Cached, used.Input)
	written := min(used.Written, used.Input-cached)
	sum := float64(p.Input)*float64(used.Input-cached-written) + float64(p.Cached)*float64(cached) +
		float64(p.Written)*float64(written) + float64(p.Output)*float64(used.Output)
	return Money(math.Ceil(sum / 1e6))
}

// Prices are the prices of models, as prices.yaml has them:
//
//	currency: USD
//	models:
//	  gpt-5-mini: {input: 0.25, cached: 0.025, output: 2}
//
// for a million tokens each. Without cached, that costs what input costs, and without
// written, that costs a quarter more: only servers that charge so much say how much it
// was.
type Prices struct {
	Currency string
	models   map[string]Price
}

// maxPrices is the largest prices.yaml, in bytes.
const maxPrices = 1 << 20

// LoadPrices reads the file at path; one that does not exist has no prices.
// Errors name the file and the line.
func LoadPrices(path string) (p Prices, err error) {
	data, err := disk.ReadSmall(path, maxPrices)
	if errors.Is(err, fs.ErrNotExist) {
		return Prices{}, nil
	}
	if err == nil {
		p, err = parsePrices(data)
	}
	if err != nil {
		return Prices{}, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return p, nil
}

func parsePrices(data []byte) (Prices, error) {
	var file struct {
		Currency string           `yaml:"currency"`
		Models   map[string]Price `yaml:"models"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return Prices{}, errors.New(yamlerror.Text(err))
	}
	return Prices{file.Currency, file.Models}, nil
}

// UnmarshalYAML wants input and output, and nothing that is not a price.
func (p *Price) UnmarshalYAML(n *yaml.Node) error {
	set := map[string]*Money{"input": &p.Input, "cached": &p.Cached, "written": &p.Written, "output": &p.Output}
	seen := map[string]bool{}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		to := set[name]
		v, err := ParseMoney(value.Value)
		if to == nil || err != nil || v < 0 {
			return fmt.Errorf("line %d: %s: %.20q: write input, cached, written and output, in units a million tokens", value.Line, name, value.Value)
		}
		*to, seen[name] = v, true
	}
	if !seen["input"] || !seen["output"] {
		return fmt.Errorf("line %d: write {input: 0.25, cached: 0.025, output: 2}, in units a million tokens", n.Line)
	}
	if !seen["cached"] {
		p.Cached = p.Input
	}
	if !seen["written"] {
		p.Written = p.Input + p.Input/4
	}
	return nil
}

var dated = lazy.Regexp{Expr: `-20\d\d-?\d\d-?\d\d$`}

// Of is the price of a model. One whose name ends in a date, such as
// gpt-5-mini-2025-08-07, costs what the name without it costs, unless it has a
// price of its own.
func (p Prices) Of(model string) (Price, bool) {
	price, ok := p.models[model]
	if !ok {
		price, ok = p.models[dated.Get().ReplaceAllString(model, "")]
	}
	return price, ok
}

// Need is [Prices.Of] for a model on which there is a money limit: a price that
// is missing is an error that says what to write.
func (p Prices) Need(model string) (Price, error) {
	price, ok := p.Of(model)
	if !ok {
		return price, fmt.Errorf("limits: money is limited, but prices.yaml has no price for %s; write there, in units a million tokens, models: {%s: {input: 0.25, cached: 0.025, output: 2}}, or 0 for a model that costs nothing", model, model)
	}
	return price, nil
}
