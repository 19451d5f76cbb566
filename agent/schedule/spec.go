package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// spec is a parsed cron specification. It knows wall clocks only: the times that
// it is given and gives are wall-clock readings, written as if they were UTC.
// Where a reading is in real time, a zone says; see [instant].
type spec struct {
	fields *cron.SpecSchedule // nil with every
	every  time.Duration
}

const fieldForms = cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor

// parseSpec reads 5 or 6 fields, a name such as @daily, or @every with a
// duration. What the library would take in a sense that nobody means is an error.
func parseSpec(text string) (spec, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return spec{}, errors.New("cron is empty")
	case strings.Contains(text, "TZ="): // the library panics at some of them
		return spec{}, errors.New("write the zone as timezone: beside cron, not in it")
	case text == "@reboot":
		return spec{}, errors.New("@reboot is no time; install `rouse schedule` as a service to wake whenever the machine is on")
	case strings.HasPrefix(text, "@every"):
		return parseEvery(text)
	case strings.HasPrefix(text, "@"):
		text = strings.ToLower(text)
	default:
		var err error
		if text, err = checkFields(text); err != nil {
			return spec{}, err
		}
	}
	s, err := cron.NewParser(fieldForms).Parse(text)
	if err != nil {
		return spec{}, errors.New(strings.Replace(err.Error(), "failed to parse int from", "not a number:", 1))
	}
	fields := s.(*cron.SpecSchedule)
	fields.Location = time.UTC
	parsed := spec{fields: fields}
	if parsed.next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return spec{}, errors.New("no such date ever comes")
	}
	return parsed, nil
}

func parseEvery(text string) (spec, error) {
	d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(text, "@every")))
	switch {
	case err != nil:
		return spec{}, errors.New("@every wants a duration, such as @every 5m")
	case d < time.Second || d%time.Second != 0:
		return spec{}, errors.New("@every wants whole seconds, at least one")
	case d > 366*24*time.Hour:
		return spec{}, errors.New("@every wants at most a year")
	}
	return spec{every: d}, nil
}

// fieldSizes are how many values each field has, from seconds to days of the week.
var fieldSizes = [...]int{60, 60, 24, 31, 12, 7}

// checkFields refuses what cannot be meant, and spells Sunday as the library does.
func checkFields(text string) (string, error) {
	fields := strings.Fields(text)
	if len(fields) != 5 && len(fields) != 6 {
		return "", fmt.Errorf("%d fields; 5 are wanted (minute hour day month weekday), or 6 with seconds first", len(fields))
	}
	sizes := fieldSizes[6-len(fields):]
	for i, f := range fields {
		for part := range strings.SplitSeq(f, ",") {
			if part == "" {
				return "", fmt.Errorf("%q: a value is missing", f)
			}
			_, step, _ := strings.Cut(part, "/")
			if n, err := strconv.Atoi(step); err == nil && n >= sizes[i] {
				return "", fmt.Errorf("%q: a step of %d is longer than the field, which has %d values; for intervals use @every", f, n, sizes[i])
			}
		}
	}
	fields[len(fields)-1] = sundays(fields[len(fields)-1])
	return strings.Join(fields, " "), nil
}

// sundays writes 7, which cron takes for Sunday, as 0.
func sundays(field string) string {
	parts := strings.Split(field, ",")
	for i, p := range parts {
		if p == "7" {
			parts[i] = "0"
		} else if from, ok := strings.CutSuffix(p, "-7"); ok {
			parts[i] = from + "-6,0"
		}
	}
	return strings.Join(parts, ",")
}

// next is the first reading after one, zero if there is none.
func (s spec) next(wall time.Time) time.Time {
	for range 3 { // the library looks five years ahead, 29 February may be eight away
		if n := s.fields.Next(wall); !n.IsZero() {
			return n
		}
		wall = wall.AddDate(4, 0, 0)
	}
	return time.Time{}
}
