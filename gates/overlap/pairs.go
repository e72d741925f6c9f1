package overlap

// Pair says that the texts at positions First < Second are near-duplicates.
type Pair struct {
	First, Second int
	Same          bool    // all words are equal
	Containment   float64 // the larger of both directions
}

// Pairs compares texts with each other and returns, for each that is a near-duplicate of an earlier one, the pair
// with the earliest such text, ordered by Second. Two texts are near-duplicates when they share at least minShared
// grams and containment reaches least, or when all their words are equal and they have any.
func Pairs(texts []string, least float64, minShared int) []Pair {
	all := Suite{Tasks: make([]SealedTask, len(texts))}
	whole := make([]uint64, len(texts))
	for i, text := range texts {
		all.Tasks[i].Prompt = text
		whole[i] = wholeHash(text)
	}
	found := make([]*Pair, len(texts))
	// The index visits earlier texts first, so the first hit of a text is its earliest partner.
	NewIndex([]Suite{all}).Compare(texts, func(second int, m Match) {
		first := m.Task
		if first >= second || found[second] != nil {
			return
		}
		same := whole[first] == whole[second]
		if same || (m.Containment >= least && m.Shared >= minShared) {
			found[second] = &Pair{first, second, same, m.Containment}
		}
	})
	var pairs []Pair
	for _, p := range found {
		if p != nil {
			pairs = append(pairs, *p)
		}
	}
	return pairs
}

// wholeHash is one hash over all words of a text in order.
func wholeHash(text string) uint64 {
	sum, count := uint64(0), uint64(0)
	for word := range wordHashes(text) {
		sum = sum*base + word
		count++
	}
	return mix(sum ^ mix(count))
}
