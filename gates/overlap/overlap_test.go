package overlap

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// slowWords and slowShared are the definition of PROTOCOL §6 written down as plainly as possible. What cannot be seen is
// no part of a word and ends none.
func slowWords(text string) []string {
	text = regexp.MustCompile(`\p{Cf}`).ReplaceAllString(text, "")
	text = strings.ToLower(norm.NFKC.String(text))
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func slowGrams(text string) map[string]bool {
	set := map[string]bool{}
	words := slowWords(text)
	if len(words) > 0 && len(words) < 13 {
		set["whole: "+strings.Join(words, " ")] = true
	}
	for i := 0; i+13 <= len(words); i++ {
		set[strings.Join(words[i:i+13], " ")] = true
	}
	return set
}

func slowShared(a, b string) (shared int, containment float64) {
	x, y := slowGrams(a), slowGrams(b)
	for g := range x {
		if y[g] {
			shared++
		}
	}
	if shared == 0 {
		return 0, 0
	}
	return shared, float64(shared) / float64(min(len(x), len(y)))
}

// compareOne returns what a prompt shares with a single sealed prompt.
func compareOne(prompt, sealed string) (shared int, containment float64) {
	x := NewIndex([]Suite{{ID: "s", Tasks: []SealedTask{{Name: "t", Prompt: sealed, Evaluated: true}}}})
	x.Compare([]string{prompt}, func(_ int, m Match) { shared, containment = m.Shared, m.Containment })
	return shared, containment
}

// words returns n different words, the first of which is number from.
func words(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("w%d", from+i)
	}
	return strings.Join(list, " ")
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name, prompt, sealed string
		shared               int
		containment          float64
	}{
		{"nothing in common", words(0, 40), words(100, 40), 0, 0},
		{"the same text", words(0, 40), words(0, 40), 28, 1},
		{"twelve shared words are not enough", words(0, 12) + " a " + words(50, 20), words(0, 12) + " b " + words(80, 20), 0, 0},
		{"thirteen shared words are one gram", words(0, 13) + " a " + words(50, 11), words(0, 13) + " b " + words(80, 30), 1, 1.0 / 13},
		{"half of the candidate", words(0, 25) + " " + words(100, 13), words(0, 25) + " " + words(200, 400), 13, 0.5},
		{"a sealed prompt inside a long one counts in its own direction", words(100, 500) + " " + words(0, 20), words(0, 20), 8, 1},
		{"case, punctuation and line breaks do not count", "Sort THE file; then\nprint: it, and count every line in the old report!", "sort the file then print it and count every line in the old report", 2, 1},
		{"compatibility letters are folded", "ﬁnd the Ⅳ ﬁles " + words(0, 12), "find the iv files " + words(0, 12), 4, 1},
		{"short texts match whole", "Fix the parser.", "fix THE parser", 1, 1},
		{"short texts do not match by their beginning", "fix the parser", "fix the parser now", 0, 0},
		{"a short text does not match inside a long one", words(0, 12), words(0, 40), 0, 0},
		{"empty texts match nothing", "", "", 0, 0},
		{"a text without letters matches nothing", "— … !", "— … !", 0, 0},
		{"repetition counts once", strings.Repeat("a ", 100), strings.Repeat("a ", 50), 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			shared, containment := compareOne(test.prompt, test.sealed)
			if shared != test.shared || containment != test.containment {
				t.Errorf("Compare = %d grams, containment %v; want %d, %v", shared, containment, test.shared, test.containment)
			}
		})
	}
}

// Property: the rolling hashes give the same answer as comparing the grams as strings.
func TestCompareEqualsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A small vocabulary with odd letters makes overlaps, repetitions and normalization likely.
		word := rapid.SampledFrom([]string{"a", "B", "b", "ß", "É", "e\u0301", "ﬀ", "7", "٣", "ñ-o", "naïve", "日本", "x_y"})
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(word, 0, 60).Draw(t, "words"), rapid.SampledFrom([]string{" ", ", ", "\n"}).Draw(t, "gap"))
		})
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if rapid.Bool().Draw(t, "quote") {
			a += " " + b
		}
		wantShared, want := slowShared(a, b)
		gotShared, got := compareOne(a, b)
		if gotShared != wantShared || got != want {
			t.Fatalf("Compare(%q, %q) = %d, %v; want %d, %v", a, b, gotShared, got, wantShared, want)
		}
		if back, backward := compareOne(b, a); back != gotShared || backward != got {
			t.Fatalf("Compare is not symmetric: %d, %v and %d, %v", gotShared, got, back, backward)
		}
	})
}

func TestCompareNamesSuiteAndTask(t *testing.T) {
	x := NewIndex([]Suite{
		{ID: "one", Tasks: []SealedTask{{Name: "a", Prompt: words(0, 20), Evaluated: true}}},
		{ID: "two", Tasks: []SealedTask{{Name: "b", Prompt: words(50, 20)}, {Name: "c", Prompt: words(0, 20)}}},
	})
	var got []string
	x.Compare([]string{words(50, 20), words(0, 20)}, func(p int, m Match) {
		got = append(got, fmt.Sprintf("prompt %d: suite %d task %d evaluated %v", p, m.Suite, m.Task, m.Evaluated))
	})
	want := []string{"prompt 1: suite 0 task 0 evaluated true", "prompt 0: suite 1 task 0 evaluated false", "prompt 1: suite 1 task 1 evaluated false"}
	if !slices.Equal(got, want) {
		t.Errorf("Compare visited %q; want %q", got, want)
	}
}

func TestHasName(t *testing.T) {
	x := NewIndex([]Suite{{Tasks: []SealedTask{{Name: "Wire_Sort", Evaluated: true}, {Name: "bell-tower"}}}})
	for name, want := range map[string]bool{"wire-sort": true, "WIRE_sort": true, "wiresort": false, "wire-sort-2": false, "bell-tower": false, "": false} {
		if got := x.HasName(name); got != want {
			t.Errorf("HasName(%q) = %v; want %v", name, got, want)
		}
	}
}

func TestPairs(t *testing.T) {
	long := words(0, 100)
	for _, test := range []struct {
		name  string
		texts []string
		want  []Pair
	}{
		{"different texts", []string{words(0, 50), words(100, 50)}, nil},
		{"the same words in another dress", []string{"Count the lines.", "other", "COUNT, the lines"}, []Pair{{0, 2, true, 1}}},
		{"one word of a hundred differs", []string{long, strings.Replace(long, "w99", "w1000", 1)}, []Pair{{0, 1, false, 87.0 / 88}}},
		{"a short common frame is not a near-duplicate", []string{"sort a " + words(0, 14), "sort b " + words(0, 14)}, nil},
		{"each is paired with the earliest", []string{long, long, long}, []Pair{{0, 1, true, 1}, {0, 2, true, 1}}},
		{"empty texts are not duplicates", []string{"", "", "!"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Pairs(test.texts, 0.8, 30); !slices.Equal(got, test.want) {
				t.Errorf("Pairs = %+v; want %+v", got, test.want)
			}
		})
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("one two three", "one TWO three")
	f.Add(words(0, 20), words(5, 20))
	f.Add("\xff\xfe a", "ﬀ \u0301")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 4096 || len(b) > 4096 {
			return
		}
		wantShared, want := slowShared(a, b)
		if gotShared, got := compareOne(a, b); gotShared != wantShared || got != want {
			t.Errorf("Compare = %d, %v; the definition says %d, %v", gotShared, got, wantShared, want)
		}
	})
}

// randomPrompts returns n texts of about 200 words from a vocabulary of 20,000.
func randomPrompts(n int) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		for range 150 + rng.IntN(100) {
			fmt.Fprintf(&b, "word%d ", rng.IntN(20_000))
		}
		texts[i] = b.String()
	}
	return texts
}

func largeSuite(n int) []Suite {
	s := Suite{ID: "large"}
	for i, text := range randomPrompts(n) {
		s.Tasks = append(s.Tasks, SealedTask{Name: fmt.Sprintf("t%d", i), Prompt: text, Evaluated: true})
	}
	return []Suite{s}
}

// BenchmarkCompare measures 200 prompts against 100,000 sealed prompts.
func BenchmarkCompare(b *testing.B) {
	suites := largeSuite(100_000)
	x := NewIndex(suites)
	prompts := randomPrompts(200)
	b.ResetTimer()
	for b.Loop() {
		hits := 0
		x.Compare(prompts, func(int, Match) { hits++ })
		if hits < 200 {
			b.Fatalf("%d hits; the first 200 sealed prompts are the same texts", hits)
		}
	}
}

func BenchmarkNewIndex(b *testing.B) {
	suites := largeSuite(100_000)
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		NewIndex(suites)
	}
}
