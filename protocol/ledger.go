package protocol

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Micros is an amount of money in millionths of a US dollar. The store keeps
// integers, JSON shows a decimal number of dollars.
type Micros int64

// Dollar is one US dollar.
const Dollar Micros = 1_000_000

// ParseMicros reads a decimal number of dollars with at most six places, such
// as 159.9998. It refuses signs, exponents and amounts beyond 9 billion.
func ParseMicros(s string) (Micros, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" || len(whole) > 10 || len(frac) > 6 || strings.Trim(whole+frac, "0123456789") != "" {
		return 0, fmt.Errorf("amount %q is not a number of dollars with at most six decimal places", s)
	}
	n, err := strconv.ParseInt(whole+frac+"000000"[len(frac):], 10, 64)
	if err != nil || n > math.MaxInt64/1024 {
		return 0, fmt.Errorf("amount %q is too large", s)
	}
	return Micros(n), nil
}

// String returns the amount in dollars with two to six places, such as 160.00.
func (m Micros) String() string {
	sign := ""
	u := uint64(m)
	if m < 0 {
		sign, u = "-", uint64(-m)
	}
	cents := fmt.Sprintf("%s%d.%02d", sign, u/1e6, u%1e6/1e4)
	return cents + strings.TrimRight(fmt.Sprintf("%04d", u%1e4), "0")
}

// MarshalJSON writes the amount as a decimal number of dollars, exactly.
func (m Micros) MarshalJSON() ([]byte, error) {
	return []byte(strings.TrimSuffix(strings.TrimRight(m.String(), "0"), ".")), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Micros) UnmarshalJSON(b []byte) error {
	neg := len(b) > 0 && b[0] == '-'
	v, err := ParseMicros(strings.TrimPrefix(string(b), "-"))
	if neg {
		v = -v
	}
	*m = v
	return err
}

// Cost is the price of an amount of time: price per hour × duration, rounded up
// so that a reservation never falls short. It saturates instead of overflowing.
func Cost(pricePerHour Micros, d time.Duration) Micros {
	if pricePerHour <= 0 || d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(pricePerHour), uint64(d))
	hour := uint64(time.Hour)
	if hi >= hour {
		return math.MaxInt64
	}
	q, r := bits.Div64(hi, lo, hour)
	if r > 0 {
		q++
	}
	return Micros(min(q, math.MaxInt64))
}

// Ledger is what the arena has promised and spent. Live reservations are those
// of runs whose job may still cost money.
type Ledger struct {
	Cap      Micros // what may be committed in all; it does not reset
	Prior    Micros // spent before this ledger began
	Settled  Micros // billed to runs that have ended
	Live     Micros // reserved by runs that have not
	Recorded Micros // what the providers' own job records add up to, live jobs excluded
}

// Committed is the larger of the arena's reckoning and the providers'
// (PROTOCOL §8): max(prior + settled + live, prior + recorded + live).
func (l Ledger) Committed() Micros { return l.Prior + max(l.Settled, l.Recorded) + l.Live }

// Remaining is what a new reservation may use. It can be negative after the
// cap was lowered.
func (l Ledger) Remaining() Micros { return l.Cap - l.Committed() }

// Covers reports whether a further reservation stays within the cap.
func (l Ledger) Covers(reservation Micros) bool { return reservation <= l.Remaining() }
