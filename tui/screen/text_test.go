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
		0: "$0.00", 5_000: "$0.01", 4_999: "$0.00", 159_999_800: "$160.00", 1_234_567_890_000: "$1,234,567.89", -2_500_000: "-$2.50",
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
	if got := counted(2, "entry"); got != "2 entries" {
		t.Error(got)
	}
}
