// Package budget keeps what a home spends within its limits: tokens, money and
// tool calls; of one request, of a cycle, of a day and of a month.
//
// The worst case of a request is reserved before it is sent, and settled with
// what it really used after. Both are lines of a ledger, logs/spend.jsonl, that
// all processes of a home share under a lock, so that they cannot overspend
// together. A reservation that is never settled, because its process died or its
// request broke off, stays spent. So what is spent exceeds a limit at most by
// what the replies then in flight used beyond their reservations: nothing, where
// the estimate of the input is high enough and the server keeps to max_output.
//
// A reservation is durable before its request is sent, which costs one fsync, and
// one more for each process. Settlements and tool calls are only written: what a
// loss of power takes of them makes a reservation stand, or forgets the tool
// calls since the last request. Without limits no file is opened. Days and months
// are those of the local calendar.
package budget

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"rouse/internal/clock"
	"rouse/internal/disk"
	"rouse/internal/jsonl"
	"rouse/internal/proc"
	"rouse/internal/text"
)

// Amount is what something uses or may use. In a limit, 0 is none.
type Amount struct {
	Tokens Count `json:"tokens,omitempty" yaml:"tokens"`
	Money  Money `json:"money,omitempty" yaml:"money"`
	Calls  Count `json:"calls,omitempty" yaml:"calls"` // of tools
}

func (a Amount) plus(b Amount) Amount {
	return Amount{a.Tokens + b.Tokens, a.Money + b.Money, a.Calls + b.Calls}
}

func (a Amount) minus(b Amount) Amount {
	return Amount{a.Tokens - b.Tokens, a.Money - b.Money, a.Calls - b.Calls}
}

// Limits are the most that one request, a cycle, a day and a month may use; what is
// 0 has no limit.
type Limits struct {
	Call  Amount `yaml:"call"`
	Cycle Amount `yaml:"cycle"`
	Day   Amount `yaml:"day"`
	Month Amount `yaml:"month"`
}

// Money says whether money is limited anywhere, so that a price is needed.
func (l Limits) Money() bool { return l.Call.Money+l.Cycle.Money+l.Day.Money+l.Month.Money > 0 }

// Exceeded says that something would not fit a limit, and was not done.
type Exceeded struct {
	Name string // such as day_money
	Text string
}

func (e *Exceeded) Error() string { return e.Name + ": " + e.Text }

// Budget is what a home may still spend. Its exported fields are set once; then
// several goroutines may use it. A nil Budget has no limits.
type Budget struct {
	Path     string // of the ledger; its lock file stands beside it
	Limits   Limits
	Currency string           // for messages
	Disk     disk.FS          // nil is the machine's
	Now      func() time.Time // nil is time.Now

	mu     sync.Mutex
	cycle  string
	self   proc.Identity
	lock   *disk.Locker
	synced bool // the ledger's name is durable
	read   book // what the ledger says, as far as it was read
	lines  *jsonl.File
	file   os.FileInfo
	offset int64
}

// Begin says which cycle the spending from here on belongs to. Without it all
// that the process spends is one cycle's.
func (b *Budget) Begin(cycle string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cycle = cycle
}

// Limited reports whether there is any limit.
func (b *Budget) Limited() bool { return b != nil && b.Limits != Limits{} }

// Held is a reservation.
type Held struct {
	id     string
	amount Amount
	// Warning, unless "", is for the model: a limit is near.
	Warning string
}

// Reserve takes want out of the budget before it is used, durably if it has
// tokens. The error is *[Exceeded] if it does not fit.
func (b *Budget) Reserve(ctx context.Context, want Amount) (Held, error) {
	if !b.Limited() {
		return Held{}, nil
	}
	h := Held{id: rand.Text()[:12], amount: want}
	err := b.locked(ctx, func() error {
		if err := b.fits(want); err != nil {
			return err
		}
		h.Warning = b.warning(want)
		return b.append(b.record(reserve, h.id, want), want.Tokens > 0)
	})
	return h, err
}

// Settle replaces a reservation by what was really used. If it fails, the
// reservation stands.
func (b *Budget) Settle(h Held, used Amount) error {
	if h.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	return b.locked(ctx, func() error { return b.append(b.record(settle, h.id, used), false) })
}

// Fits says whether a cycle that begins now could do what want says; nothing is
// reserved. The error is *[Exceeded] if it could not.
func (b *Budget) Fits(ctx context.Context, want Amount) error {
	if !b.Limited() {
		return nil
	}
	err := b.locked(ctx, func() error { return b.fits(want) })
	if errors.Is(err, fs.ErrNotExist) { // not even the ledger's folder: nothing was spent
		b.mu.Lock()
		defer b.mu.Unlock()
		b.read = newBook()
		err = b.fits(want)
	}
	return err
}

// Call takes one tool call out of the budget. The error is *[Exceeded] if there
// is none left.
func (b *Budget) Call(ctx context.Context) error {
	_, err := b.Reserve(ctx, Amount{Calls: 1})
	return err
}

func (b *Budget) now() time.Time { return clock.Now(b.Now) }

const dayForm = "2006-01-02"

func (b *Budget) today() string { return b.now().Local().Format(dayForm) }

// cycleID is the cycle, or the process where none was named.
func (b *Budget) cycleID() string {
	return cmp.Or(b.cycle, fmt.Sprintf("process %d.%d", b.self.PID, b.self.Start))
}

// scope is what a limit is for, and how much of it is used.
type scope struct {
	name        string
	limit, used Amount
}

func (b *Budget) scopes() []scope {
	today := b.today()
	return []scope{
		{"call", b.Limits.Call, Amount{}},
		{"cycle", b.Limits.Cycle, b.read.cycles[b.cycleID()]},
		{"day", b.Limits.Day, b.read.days[today]},
		{"month", b.Limits.Month, b.read.month(today[:len("2006-01")])},
	}
}

// part is one of the three things that a scope limits.
type part struct {
	name              string
	limit, used, want int64
	show              func(int64) string
}

func (b *Budget) parts(s scope, want Amount) []part {
	money := func(n int64) string { return strings.TrimSpace(Money(n).String() + " " + b.Currency) }
	return []part{
		{s.name + "_tokens", int64(s.limit.Tokens), int64(s.used.Tokens), int64(want.Tokens), counted("token")},
		{s.name + "_money", int64(s.limit.Money), int64(s.used.Money), int64(want.Money), money},
		{s.name + "_calls", int64(s.limit.Calls), int64(s.used.Calls), int64(want.Calls), counted("tool call")},
	}
}

func counted(unit string) func(int64) string {
	return func(n int64) string { return text.Count(n, unit) }
}

// each calls do with every part that has a limit and of which want has some.
func (b *Budget) each(want Amount, do func(part)) {
	for _, s := range b.scopes() {
		for _, p := range b.parts(s, want) {
			if p.limit > 0 && p.want > 0 {
				do(p)
			}
		}
	}
}

// fits finds the first limit that want would exceed.
func (b *Budget) fits(want Amount) (err error) {
	b.each(want, func(p part) {
		if err == nil && p.used+p.want > p.limit {
			err = &Exceeded{p.name, fmt.Sprintf("%s of %s used, and the next step may need %s", p.show(p.used), p.show(p.limit), p.show(p.want))}
		}
	})
	return err
}

// warning says that 80 % of a limit are used, or that no second step like this
// one fits.
func (b *Budget) warning(want Amount) (text string) {
	b.each(want, func(p part) {
		near := p.used*10 >= p.limit*8 || p.used+2*p.want > p.limit
		if near && p.used > 0 {
			text = fmt.Sprintf("[LIMIT] %s: %s of %s used. Wind down: finish what matters most, write down what is left to do, then say done.",
				p.name, p.show(p.used), p.show(p.limit))
		}
	})
	return text
}

// Use is how much of a limit of the day or the month is used: in words, and as
// numbers of tokens, calls or units of the currency.
type Use struct {
	Name       string      `json:"name"`
	Used       string      `json:"used"`
	Limit      string      `json:"limit"`
	UsedValue  json.Number `json:"used_value"`
	LimitValue json.Number `json:"limit_value"`
}

func use(name, used, limit string) Use {
	number := func(words string) json.Number {
		n, _, _ := strings.Cut(words, " ")
		return json.Number(n)
	}
	return Use{name, used, limit, number(used), number(limit)}
}

// Uses lists the limits of the day and the month.
func (b *Budget) Uses(ctx context.Context) (list []Use, err error) {
	err = b.locked(ctx, func() error {
		for _, s := range b.scopes()[2:] {
			for _, p := range b.parts(s, Amount{}) {
				if p.limit > 0 {
					list = append(list, use(p.name, p.show(p.used), p.show(p.limit)))
				}
			}
		}
		return nil
	})
	return list, err
}

// Damage says in words what of the ledger could not be read; "" is nothing.
func (b *Budget) Damage(ctx context.Context) (text string, err error) {
	err = b.locked(ctx, func() error {
		if n := b.read.bad; n > 0 {
			text = fmt.Sprintf("%d lines of %s cannot be read, and what they say was spent does not count; was it changed, or the disk full?", n, filepath.Base(b.Path))
		}
		return nil
	})
	return text, err
}
