package joblog_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/protocol/joblog"
)

func TestRedact(t *testing.T) {
	r := joblog.NewRedactor(append(sealed(), "", "fold_maps", "fix-git", "fix-git-hooks", "git-blame", "Größe-Prüfen"))
	// Sorted: bake-index chart-tides fix-git fix-git-hooks fold-maps git-blame
	// größe-prüfen mend-clock sort-ledger trim--reel.
	for in, want := range map[string]string{
		"":                                      "",
		"nothing to hide":                       "nothing to hide",
		"bake-index":                            "sealed-01",
		"BAKE_Index and Fold-Maps":              "sealed-01 and sealed-05",
		"jobs/x/trim__reel__0a1b2c3d/":          "jobs/x/sealed-10__0a1b2c3d/",
		"unbake-indexed":                        "unsealed-01ed",
		"fix-git, fix-git-hooks, fix-git-hook":  "sealed-03, sealed-04, sealed-03-hook",
		"fix-git-blame":                         "sealed-03", // two names that overlap
		"bake-indexbake-index":                  "sealed-01sealed-01",
		"GRÖSSE-PRÜFEN größe_prüfen":            "GRÖSSE-PRÜFEN sealed-07",
		"rollout failed for sort-ledger after…": "rollout failed for sealed-09 after…",
	} {
		if got := r.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	if empty := joblog.NewRedactor(nil); empty.Contains("x") || empty.Redact("x") != "x" {
		t.Error("a redactor without names changes a text")
	}
}

// name generates task names, some of them made to collide with pseudonyms.
func name() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,12}`),
		rapid.SampledFrom([]string{"sealed", "sealed-0", "sealed-01", "ed-01", "01-x", "-1", "a", "1", "é", "…", "……"}),
	)
}

// folded is a spelling-blind form to compare with, made without the automaton.
func folded(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// No sealed name survives, in any spelling and any surroundings.
func TestNoSealedNameSurvives(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfN(name(), 1, 8).Draw(r, "names")
		spelled := rapid.Custom(func(r *rapid.T) string {
			n := rapid.SampledFrom(names).Draw(r, "name")
			return rapid.SampledFrom([]string{
				n, strings.ToUpper(n), strings.ReplaceAll(n, "-", "_"), strings.ReplaceAll(n, "_", "-"), n[:len(n)/2],
			}).Draw(r, "spelling")
		})
		parts := rapid.SliceOf(rapid.OneOf(spelled, rapid.SampledFrom([]string{"", " ", "/", "-x", "01", "sealed-", "\xff", "ß"}), rapid.String())).Draw(r, "parts")
		text := strings.Join(parts, "")
		redactor := joblog.NewRedactor(names)
		out := redactor.Redact(text)
		for _, n := range names {
			if strings.Contains(folded(out), folded(n)) {
				r.Fatalf("%q of %q survives in %q", n, text, out)
			}
		}
		if !redactor.Contains(text) && out != text {
			r.Fatalf("%q became %q although it names nothing", text, out)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("sealed-task-number-%d", i*i))
	}
	text := strings.Repeat("RuntimeError: an evaluation contains errors in one task of the suite; ", 200)
	redactor := joblog.NewRedactor(names)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redactor.Redact(text)
	}
}
