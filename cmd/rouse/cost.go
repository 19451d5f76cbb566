package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"rouse/agent/budget"
	"rouse/setup"
)

// cost is one row of `rouse cost --json`; only one of the first three is set.
type cost struct {
	Day   string `json:"day,omitempty"`
	Cycle string `json:"cycle,omitempty"`
	Model string `json:"model,omitempty"`
	budget.Row
	Money    *budget.Money `json:"money"`
	Currency string        `json:"currency"`
}

// costRows are what a row can be.
var costRows = []string{"day", "cycle", "model"}

func (a *app) newCost() *cobra.Command {
	var by string
	c := &cobra.Command{
		Use:   "cost",
		Short: "Show what the cycles have used and cost",
		Long: `Show the tokens and tool calls of the cycles whose journals are kept, and what they cost by
the prices in prices.yaml; a model without a price there has none here. Requests that
broke off, which may cost too, are only in the ledger that the limits go by.

Exit codes: 0, 1 if the logs cannot be read, 2 configuration.`,
		Example: `  rouse cost
  rouse cost --by model --json`,
		RunE: in(a.open, func(s *setup.Setup, _ []string) error { return a.cost(s, by) }),
	}
	c.Flags().StringVar(&by, "by", "day", "what a row is: day, cycle or model")
	return a.withJSON(c)
}

func (a *app) cost(s *setup.Setup, by string) error {
	if !slices.Contains(costRows, by) {
		return usage(fmt.Errorf("--by %q: use day, cycle or model", by))
	}
	prices, err := s.Prices()
	if err != nil {
		return usage(err)
	}
	rows, err := budget.Usage(s.Home, by, s.ModelName(), prices, "", nil)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(costs(rows, by, prices.Currency))
	}
	a.printCosts(rows, by, prices.Currency)
	return a.printLimits(s)
}

func costs(rows []budget.Row, by, currency string) []cost {
	list := make([]cost, 0, len(rows))
	for _, r := range rows {
		c := cost{Row: r, Currency: currency}
		switch by {
		case "day":
			c.Day = r.Key
		case "cycle":
			c.Cycle = r.Key
		case "model":
			c.Model = r.Key
		}
		if r.Priced {
			c.Money = &r.Money
		}
		list = append(list, c)
	}
	return list
}

func (a *app) printCosts(rows []budget.Row, by, currency string) {
	if by != "model" && len(rows) > 1 {
		rows = append(rows, budget.Total(rows))
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tcycles\trequests\tinput\tcached\toutput\ttool calls\tcost\t\n", by)
	for _, r := range rows {
		money := "no price"
		if r.Priced {
			money = fmt.Sprintf("%.4f %s", float64(r.Money)/1e9, currency)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n", r.Key, r.Cycles, r.Requests, r.Input, r.Cached, r.Output, r.Calls, money)
	}
	w.Flush()
}

// printLimits shows how much of the limits of the day and the month is used.
func (a *app) printLimits(s *setup.Setup) error {
	uses, err := s.Uses()
	for _, u := range uses {
		fmt.Fprintf(a.stdout, "%s: %s of %s used\n", u.Name, u.Used, u.Limit)
	}
	return err
}
