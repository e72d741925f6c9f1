package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/tui/widget/celltext"
)

// Ago is how long something is past, in one coarse unit, so that a screen on
// which nothing happens is redrawn at most once a minute.
func Ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case then.IsZero():
		return ""
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// span is a duration in at most two units.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// coarse is a duration that goes on, in minutes once there are any.
func coarse(d time.Duration) string {
	if d >= time.Minute && d < time.Hour {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return span(d)
}

// dollars is an amount of money with two places.
func dollars(m protocol.Micros) string {
	cents, sign := (max(m, -m)+5_000)/10_000, ""
	if m < 0 && cents > 0 {
		sign = "-"
	}
	return fmt.Sprintf("%s$%s.%02d", sign, thousands(int64(cents/100)), cents%100)
}

// thousands is a number with separators.
func thousands(n int64) string {
	s := fmt.Sprint(max(n, -n))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if n < 0 {
		return "-" + s
	}
	return s
}

// percent is a share with one place.
func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// counted is a number with its noun, in the plural where it belongs.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey") {
		noun = noun[:len(noun)-1] + "ie"
	}
	return thousands(int64(n)) + " " + noun + "s"
}

// or is the first text that is not empty.
func or(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// deref is the value behind a pointer, the zero value for nil.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// clock is a time of day with its zone, and with the date when it is another day.
func clock(w World, t time.Time) string {
	t, now := t.In(w.Zone), w.Now.In(w.Zone)
	switch {
	case t.Year() != now.Year():
		return t.Format("2006-01-02 15:04 MST")
	case t.YearDay() != now.YearDay():
		return t.Format("Jan 02 15:04 MST")
	default:
		return t.Format("15:04 MST")
	}
}

// sentence is text on one line, for places that hold one.
func sentence(s string) string { return celltext.Clean(strings.Join(strings.Fields(s), " ")) }
