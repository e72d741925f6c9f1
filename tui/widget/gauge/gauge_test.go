package gauge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/tui/widget/gauge"
	"github.com/posttrainarena/arena/tui/widget/widgettest"
)

func dollars(n int64) string { return fmt.Sprintf("$%d.%02d", n/100, n%100) }

func styles() gauge.Styles {
	return gauge.Styles{
		Settled: widgettest.Colour("4"), Reserved: widgettest.Colour("3"), Remaining: widgettest.Colour("8"),
		Over: widgettest.Colour("1").Bold(true), Legend: widgettest.Style(),
	}
}

func TestView(t *testing.T) {
	usual := gauge.Amounts{Settled: 81240, Reserved: 12000, Cap: 150000}
	for _, tt := range []struct {
		name          string
		amounts       gauge.Amounts
		width, height int
		opts          []gauge.Option
	}{
		{"one row", usual, 100, 1, nil},
		{"two rows", usual, 76, 2, nil},
		{"fewer words", usual, 50, 1, nil},
		{"fewest words", usual, 30, 1, nil},
		{"bar only", usual, 12, 1, nil},
		{"nothing spent", gauge.Amounts{Cap: 150000}, 76, 2, nil},
		{"a cent is seen", gauge.Amounts{Settled: 1, Reserved: 1, Cap: 150000}, 76, 2, nil},
		{"a cent left is seen", gauge.Amounts{Settled: 149990, Reserved: 9, Cap: 150000}, 76, 2, nil},
		{"over the cap", gauge.Amounts{Settled: 150000, Reserved: 4200, Cap: 150000}, 76, 2, nil},
		{"no budget at all", gauge.Amounts{}, 76, 2, nil},
		{"ascii", usual, 100, 1, []gauge.Option{gauge.WithASCII(true)}},
		{"styled", usual, 76, 2, []gauge.Option{gauge.WithStyles(styles())}},
		{"styled over the cap", gauge.Amounts{Settled: 150000, Reserved: 4200, Cap: 150000}, 76, 2, []gauge.Option{gauge.WithStyles(styles())}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := gauge.New(append(tt.opts, gauge.WithFormat(dollars))...)
			m.SetSize(tt.width, tt.height)
			m.SetAmounts(tt.amounts)
			widgettest.Exact(t, m.View(), tt.width, tt.height)
			widgettest.Golden(t, m.View())
		})
	}
}

func TestEveryAmountThatIsNotZeroIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 1e12)
		a := gauge.Amounts{Settled: amount.Draw(t, "settled"), Reserved: amount.Draw(t, "reserved"), Cap: amount.Draw(t, "cap")}
		width, height := rapid.IntRange(0, 120).Draw(t, "width"), rapid.IntRange(0, 4).Draw(t, "height")
		ascii := rapid.Bool().Draw(t, "ascii")
		m := gauge.New(gauge.WithASCII(ascii))
		m.SetSize(width, height)
		m.SetAmounts(a)
		view := m.View()
		widgettest.Exact(t, view, width, height)
		if ascii {
			widgettest.ASCIIOnly(t, view)
		}
		if width < 3 || height < 2 {
			return
		}
		bar, _, _ := strings.Cut(ansi.Strip(view), "\n")
		for _, part := range []struct {
			signs string
			n     int64
		}{{"█#", a.Settled}, {"▒=", a.Reserved}, {"░.", a.Remaining()}} {
			if seen := strings.ContainsAny(bar, part.signs); seen != (part.n > 0) && a != (gauge.Amounts{}) {
				t.Fatalf("%+v: %q seen = %t in %q", a, part.signs, seen, bar)
			}
		}
	})
}

func TestNegativeAmountsCountAsZero(t *testing.T) {
	m := gauge.New(gauge.WithASCII(true))
	m.SetSize(3, 1)
	m.SetAmounts(gauge.Amounts{Settled: -5, Reserved: -1, Cap: 3})
	if got := m.View(); got != "..." {
		t.Errorf("got %q", got)
	}
}

func BenchmarkView(b *testing.B) {
	m := gauge.New(gauge.WithStyles(styles()))
	m.SetSize(200, 2)
	m.SetAmounts(gauge.Amounts{Settled: 81240, Reserved: 12000, Cap: 150000})
	b.ReportAllocs()
	for b.Loop() {
		m.View()
	}
}
