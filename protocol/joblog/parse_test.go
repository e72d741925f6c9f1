package joblog

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol"
)

func TestParseVerdict(t *testing.T) {
	const limit = " (Agent prompt exceeded wall-clock budget 900s)"
	for _, c := range []struct {
		line, name string
		outcome    protocol.Outcome
	}{
		{"[PASS] sort-ledger (tools=7)", "sort-ledger", protocol.OutcomePass},
		{"[PASS] sort-ledger (reward=1.00, tools=7)", "sort-ledger", protocol.OutcomePass},
		{"[FAIL] sort-ledger (reward=nan, tools=7)", "sort-ledger", protocol.OutcomeFail},
		{"[FAIL] trim__reel (reward=-0.50, tools=0)  ", "trim__reel", protocol.OutcomeFail},
		{"[ERR] sort-ledger (tools=0) (Sandbox startup failed: Docker compose command…)", "sort-ledger", protocol.OutcomeError},
		{"[ERR] sort-ledger: unexpected exception: KeyError('x')", "sort-ledger", protocol.OutcomeError},

		// A graded attempt that ran into its limit is a timeout, whatever the word.
		{"[PASS] sort-ledger (tools=7)" + limit, "sort-ledger", protocol.OutcomeTimeout},
		{"[FAIL] sort-ledger (reward=0.30, tools=7)" + limit, "sort-ledger", protocol.OutcomeTimeout},
		{"[ERR] sort-ledger (tools=7)" + limit, "sort-ledger", protocol.OutcomeError},
		// A cut note that may have been the limit's is no proof of a pass.
		{"[PASS] sort-ledger (tools=7) (Agent prompt exc", "sort-ledger", protocol.OutcomeTimeout},
		{"[PASS] sort-ledger (tools=7) (", "sort-ledger", protocol.OutcomeTimeout},
		// Other notes do not take a pass away, closed or not.
		{"[PASS] sort-ledger (tools=7) (ACP initialize timed out after 120s before the…)", "sort-ledger", protocol.OutcomePass},
		{"[PASS] sort-ledger (tools=7) (two", "sort-ledger", protocol.OutcomePass},
		{"[PASS] sort-ledger (tools=7) ((nested) parentheses)", "sort-ledger", protocol.OutcomePass},

		// Not verdicts: incomplete, indented, or in other words.
		{"[PASS] sort-ledger", "", ""},
		{"[PASS] sort-ledger (too", "", ""},
		{"[PASS] sort-ledger (tools=7", "", ""},
		{"[PASS] sort-ledger (tools=)", "", ""},
		{"[PASS] sort-ledger (reward=1.00)", "", ""},
		{"[PASS] sort-ledger (tools=7) and more", "", ""},
		{"[PASS] sort-ledger: fine", "", ""},
		{"[PASS]  (tools=7)", "", ""},
		{" [PASS] sort-ledger (tools=7)", "", ""},
		{"[SKIP] sort-ledger (tools=7)", "", ""},
		{"[PASS]", "", ""},
		{"[ERR] :", "", ""},
	} {
		v, ok := parseVerdict([]byte(c.line))
		if ok != (c.name != "") {
			t.Errorf("%q: verdict %v", c.line, ok)
		} else if ok && (string(v.name) != c.name || v.outcome != c.outcome) {
			t.Errorf("%q: %s of %q, want %s of %q", c.line, v.outcome, v.name, c.outcome, c.name)
		}
	}
}

func TestReadDict(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		text string
		want map[string]float64 // nil when it is not a whole dictionary
		rest string
	}{
		{`{}`, map[string]float64{}, ""},
		{`{'loss': 0.5, "kl": -1e-06}{'x'`, map[string]float64{"loss": 0.5, "kl": -1e-6}, "{'x'"},
		{`{'loss': nan, 'a': inf, 'b': -inf}`, map[string]float64{"loss": nan, "a": math.Inf(1), "b": math.Inf(-1)}, ""},
		{`{'loss': '0.0012', 'word': 'fast'}`, map[string]float64{"loss": 0.0012}, ""},
		{`{'a': np.float64(0.5), 'b': tensor(2, device='cuda:0'), 'c': array([7])}`, map[string]float64{"a": 0.5, "b": 2}, ""},
		{`{'a': None, 'b': True, 'c': [1, 2], 'd': (1,), 'e': []}`, map[string]float64{}, ""},
		{`{'r': {'mean': 1, 'deep': {'x': 2}}, 'z': 3}`, map[string]float64{"r/mean": 1, "r/deep/x": 2, "z": 3}, ""},
		{`{'it\'s': 1, 'a "b"': 2,}`, map[string]float64{`it\'s`: 1, `a "b"`: 2}, ""},
		{`{ 'a' : 1 , 3: 4 }`, map[string]float64{"a": 1, "3": 4}, ""},
		{`{'loss': 0.5`, nil, ""},
		{`{'loss'}`, nil, ""},
		{`{'loss': }`, nil, ""},
		{`{'loss: 1}`, nil, ""},
		{`{'a': f(`, nil, ""},
		{`[1]`, nil, ""},
		{strings.Repeat(`{'a': `, 50) + "1" + strings.Repeat("}", 50), nil, ""},
		{`{'a': ` + strings.Repeat("(", 50) + strings.Repeat(")", 50) + "}", nil, ""},
	} {
		got := map[string]float64{}
		rest, ok := readDict([]byte(c.text), func(k []byte, v float64) { got[string(k)] = v })
		if ok != (c.want != nil) {
			t.Errorf("%s: read %v", c.text, ok)
			continue
		}
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if ok && (!maps.EqualFunc(got, c.want, same) || string(rest) != c.rest) {
			t.Errorf("%s: got %v and %q, want %v and %q", c.text, got, rest, c.want, c.rest)
		}
	}
}

// Markers that are not stages of a run change nothing.
func TestStageOf(t *testing.T) {
	for name, want := range map[string]stageID{
		"snapshot_train_tasks": snapshot, "baseline_eval": baseline, "grpo_gate_eval": gate,
		"grpo_rollout_000000_000003": training, "posttrain_eval": heldout, "compare_eval_lift": heldout,
		"baseline_benchmark_small-suite": baseline, "final_benchmark_small-suite": heldout,
		"warning": -1, "sft_eval": -1, "sync_base_endpoint": -1, "grpo_rollout_": -1, "": -1,
	} {
		got, ok := stageOf([]byte(name))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is stage %d, want %d", name, got, want)
		}
	}
}

// The fold indexes stages by their place in the protocol's order.
func TestStageOrder(t *testing.T) {
	want := []protocol.Stage{
		protocol.StageSetup, protocol.StageSnapshot, protocol.StageBaseline,
		protocol.StageGate, protocol.StageTraining, protocol.StageHeldout,
	}
	if got := protocol.Stages()[:stageCount]; !slices.Equal(got, want) {
		t.Errorf("the protocol's stages are %v, the fold's %v", got, want)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext":                         "plain\ttext",
		"\x1b[1;32mgreen\x1b[0m":              "green",
		"\x1b]0;a title\x07text":              "text",
		"\x1b]8;;https://example.org\x1b\\ln": "ln",
		"\x1b]8;;not closed":                  "8;;not closed",
		"\x1b(Bcharset\x1b=keypad":            "charsetkeypad",
		"a\x00b\x08c\x7fd\u009be":             "abcde",
		"\xff\xfetext\xc3":                    "\ufffd\ufffdtext\ufffd",
		"ends in \x1b":                        "ends in ",
		"ends in \x1b[1;3":                    "ends in ",
		"häuser → 家":                          "häuser → 家",
	} {
		if got := string(Clean(nil, []byte(in))); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// What Clean lets through, a terminal does not obey; and looking at eight bytes
// at a time finds exactly what looking at each one finds.
func TestCleanIsClean(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		in := rapid.SliceOf(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\x1b[]\t\x7f \x1f")))).Draw(r, "line")
		if got := dirty(in); got != control(in) {
			r.Fatalf("dirty(%q) = %v", in, got)
		}
		out := Clean(nil, in)
		if control(out) || strings.ToValidUTF8(string(out), "") != string(out) {
			r.Fatalf("Clean(%q) = %q", in, out)
		}
		if again := Clean(nil, out); string(again) != string(out) {
			r.Fatalf("cleaning %q twice gives %q", out, again)
		}
	})
}

func TestTrimStamp(t *testing.T) {
	for in, want := range map[string]string{
		"2026-03-01T08:15:00.123Z [PASS] a":      "[PASS] a",
		"2026-03-01 08:15:00,123 text":           "text",
		"2026-03-01T08:15:00+01:00  text":        "text",
		"2026-03-01T08:15:00":                    "2026-03-01T08:15:00",
		"2026-03-01T08:15:00Zulu text":           "2026-03-01T08:15:00Zulu text",
		"2026-03-01 is a day, not a time at all": "2026-03-01 is a day, not a time at all",
		"short":                                  "short",
	} {
		if got := string(trimStamp([]byte(in))); got != want {
			t.Errorf("trimStamp(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSplitter(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for in, want := range map[string][]string{
		"one\ntwo\n":                         {"one", "two"},
		"one\r\ntwo\r\n\r\n":                 {"one", "two"},
		"no end":                             {"no end"},
		"\n\n  \n":                           nil,
		"text\rover\n":                       {"text", "over"},
		" 1%|x | 1/9 [a]\r 2%|x | 2/9 [b]\n": {" 2%|x | 2/9 [b]"},
		" 1%|x | 1/9 [a]\r\nnext":            {" 1%|x | 1/9 [a]", "next"},
		" 1%|x | 1/9 [a]{'loss': 1}\r 2%|x | 2/9 [b]": {" 1%|x | 1/9 [a]{'loss': 1}", " 2%|x | 2/9 [b]"},
		"\x1b[1mbold\x1b[0m\x00\n":                    {"bold"},
		long + "yz\nnext":                             {long + " … [2 more bytes]", "next"},
	} {
		var s Splitter
		var got []string
		emit := func(l []byte) { got = append(got, string(l)) }
		s.Write([]byte(in), emit)
		s.Flush(emit)
		if !slices.Equal(got, want) {
			t.Errorf("%.40q: got %.60q, want %.60q", in, got, want)
		}
	}
}

// Where chunks end makes no difference.
func TestSplitterChunks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte("ab\r\n\x1b[m%|]\xc3\xa4"))).Draw(r, "text")
		var whole, parts []string
		var a, b Splitter
		a.Write(text, func(l []byte) { whole = append(whole, string(l)) })
		a.Flush(func(l []byte) { whole = append(whole, string(l)) })
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "chunk")
			b.Write(rest[:n], func(l []byte) { parts = append(parts, string(l)) })
			rest = rest[n:]
		}
		b.Flush(func(l []byte) { parts = append(parts, string(l)) })
		if !slices.Equal(whole, parts) {
			r.Fatalf("whole %q, in chunks %q", whole, parts)
		}
	})
}
