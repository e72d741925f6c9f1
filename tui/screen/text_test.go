package screen

import (
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

func TestTimesAsPeopleReadThem(t *testing.T) {
	now := time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "now", 59 * time.Second: "now", time.Minute: "1m", 59 * time.Minute: "59m", 90 * time.Minute: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", -time.Hour: "now",
	} {
		if got := Ago(now, now.Add(-d)); got != want {
			t.Errorf("%s ago is %q, want %q", d, got, want)
		}
	}
	if got := Ago(now, time.Time{}); got != "" {
		t.Errorf("no time is %q", got)
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 42 * time.Second: "42s", 185 * time.Second: "3m05s", 137 * time.Minute: "2h17m", 123 * time.Hour: "5d03h",
	} {
		if got := span(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
	if got := coarse(185 * time.Second); got != "3m" {
		t.Errorf("three minutes that go on are %q", got)
	}
}

func TestMoneyAndNumbers(t *testing.T) {
	for m, want := range map[protocol.Micros]string{
		0: "$0.00", 5_000: "$0.01", 4_999: "$0.00", 159_999_800: "$160.00", 1_234_567_890_000: "$1,234,567.89", -2_500_000: "-$2.50", -4_999: "$0.00",
	} {
		if got := dollars(m); got != want {
			t.Errorf("%d is %q, want %q", m, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 tasks", 1: "1 task", 1000: "1,000 tasks", -1234: "-1,234 tasks"} {
		if got := counted(n, "task"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for pp, want := range map[float64]string{0: "+0.0", -0.04: "+0.0", -0.06: "-0.1", 3.448: "+3.4"} {
		if got := points(pp); got != want {
			t.Errorf("%g points are %q, want %q", pp, got, want)
		}
	}
	if got := counted(2, "entry"); got != "2 entries" {
		t.Error(got)
	}
}

// A time of day says in which zone, and on which day when that is not today.
func TestClock(t *testing.T) {
	w := World{Now: time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC), Zone: time.FixedZone("CET", 3600)}
	for then, want := range map[time.Time]string{
		time.Date(2031, 5, 6, 11, 5, 0, 0, time.UTC):     "12:05 CET",
		time.Date(2031, 5, 5, 23, 30, 0, 0, time.UTC):    "00:30 CET",
		time.Date(2031, 5, 4, 11, 5, 0, 0, time.UTC):     "May 04 12:05 CET",
		time.Date(2030, 12, 31, 23, 59, 0, 0, time.UTC):  "Jan 01 00:59 CET",
		time.Date(2030, 12, 30, 23, 59, 59, 0, time.UTC): "2030-12-31 00:59 CET",
	} {
		if got := clock(w, then); got != want {
			t.Errorf("%s is %q, want %q", then, got, want)
		}
	}
}
