package protocol_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
)

func TestMicros(t *testing.T) {
	for _, tc := range []struct {
		text   string
		want   protocol.Micros
		string string
		json   string
	}{
		{"0", 0, "0.00", "0"},
		{"160", 160_000_000, "160.00", "160"},
		{"159.9998", 159_999_800, "159.9998", "159.9998"},
		{"0.000001", 1, "0.000001", "0.000001"},
		{"20.50", 20_500_000, "20.50", "20.5"},
	} {
		got, err := protocol.ParseMicros(tc.text)
		if err != nil || got != tc.want {
			t.Errorf("ParseMicros(%q) = %d, %v; want %d", tc.text, got, err, tc.want)
		}
		if got.String() != tc.string {
			t.Errorf("%d prints as %q, want %q", got, got, tc.string)
		}
		if b, _ := json.Marshal(got); string(b) != tc.json {
			t.Errorf("%d is %s in JSON, want %s", got, b, tc.json)
		}
	}
	for _, bad := range []string{"", ".5", "-1", "1e3", "1.2345678", "99999999999", "1,5", " 1", "NaN"} {
		if got, err := protocol.ParseMicros(bad); err == nil {
			t.Errorf("ParseMicros(%q) = %d, want an error", bad, got)
		}
	}
}

// TestMicrosJSON: every amount survives JSON exactly, debts included.
func TestMicrosJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := protocol.Micros(rapid.Int64Range(-9e15, 9e15).Draw(t, "amount"))
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back protocol.Micros
		if err := json.Unmarshal(b, &back); err != nil || back != m {
			t.Fatalf("%d became %s became %d, %v", m, b, back, err)
		}
	})
}

// TestCost compares with exact arithmetic: never less than price × time, never
// a whole micro-dollar more.
func TestCost(t *testing.T) {
	if got := protocol.Cost(20*protocol.Dollar, 8*time.Hour); got != 160*protocol.Dollar {
		t.Errorf("8 h at $20 = %s", got)
	}
	if got := protocol.Cost(math.MaxInt64, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("an absurd cost wrapped around to %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		price := protocol.Micros(rapid.Int64Range(-10, 1e12).Draw(t, "price"))
		d := time.Duration(rapid.Int64Range(-10, int64(1000*time.Hour)).Draw(t, "time"))
		got := new(big.Int).SetInt64(int64(protocol.Cost(price, d)))
		if price <= 0 || d <= 0 {
			if got.Sign() != 0 {
				t.Fatalf("Cost(%d, %d) = %s", price, d, got)
			}
			return
		}
		exact := new(big.Int).Mul(big.NewInt(int64(price)), big.NewInt(int64(d)))
		up := new(big.Int).Add(exact, big.NewInt(int64(time.Hour)-1))
		if want := up.Div(up, big.NewInt(int64(time.Hour))); got.Cmp(want) != 0 {
			t.Fatalf("Cost(%d, %d) = %s, want %s", price, d, got, want)
		}
	})
}

// TestLedger is the formula of PROTOCOL §8 with figures.
func TestLedger(t *testing.T) {
	l := protocol.Ledger{Cap: 800, Prior: 50, Settled: 300, Live: 160, Recorded: 280}
	if l.Committed() != 510 || l.Remaining() != 290 {
		t.Errorf("committed %d, remaining %d", l.Committed(), l.Remaining())
	}
	l.Recorded = 320 // the provider says more than we reckoned
	if l.Committed() != 530 {
		t.Errorf("committed %d, want the provider's figure to count", l.Committed())
	}
	if !l.Covers(270) || l.Covers(271) {
		t.Error("the cap is not exact")
	}
}
