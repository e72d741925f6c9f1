package screen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Remap changes the keys of a key table as a person wrote them down, a line each:
//
//	# comment
//	log follow = F ctrl+l
//	anywhere refresh = f5
//
// The words before the sign are the scope and the intent of a row, those behind it
// its keys from then on. Errors name the file and the line; all of them are
// reported at once.
func Remap(rows []Binding, file, text string) ([]Binding, error) {
	rows = slices.Clone(rows)
	lines := map[int]int{} // row → line of the file
	var bad []error
	for n, l := range strings.Split(text, "\n") {
		l, _, _ = strings.Cut(l, "#")
		if strings.TrimSpace(l) == "" {
			continue
		}
		i, keys, err := remapLine(rows, l)
		if err != nil {
			bad = append(bad, fmt.Errorf("%s:%d: %w", file, n+1, err))
			continue
		}
		rows[i].Keys, lines[i] = keys, n+1
	}
	for i, n := range lines {
		for j, other := range rows {
			for _, key := range rows[i].Keys {
				// Of two changed rows, the later one in the file is reported.
				if j != i && other.Scope == rows[i].Scope && slices.Contains(other.Keys, key) && n > lines[j] {
					bad = append(bad, fmt.Errorf("%s:%d: the key %s of %s already means %s; give that another key too", file, n, key, other.Scope, other.Intent))
				}
			}
		}
	}
	slices.SortFunc(bad, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return rows, errors.Join(bad...)
}

// unique drops what was there before.
func unique(words []string) []string {
	var once []string
	for _, w := range words {
		if !slices.Contains(once, w) {
			once = append(once, w)
		}
	}
	return once
}

// remapLine reads one line: the row that it is about, and its keys.
func remapLine(rows []Binding, l string) (int, []string, error) {
	left, right, ok := strings.Cut(l, "=")
	words, keys := strings.Fields(left), unique(strings.Fields(right))
	if !ok || len(words) < 2 || len(keys) == 0 {
		return 0, nil, errors.New("a line is: scope intent = keys, such as: log follow = F")
	}
	scope, intent := Scope(strings.Join(words[:len(words)-1], " ")), Intent(words[len(words)-1])
	known := map[string]bool{}
	for i, b := range rows {
		if b.Scope == scope && b.Intent == intent {
			return i, keys, nil
		}
		known[string(b.Scope)] = true
	}
	if !known[string(scope)] {
		return 0, nil, fmt.Errorf("there is no scope %s; the scopes are %s", scope, strings.Join(sortedKeys(known), ", "))
	}
	intents := map[string]bool{}
	for _, b := range rows {
		if b.Scope == scope {
			intents[string(b.Intent)] = true
		}
	}
	return 0, nil, fmt.Errorf("%s has no intent %s; it has %s", scope, intent, strings.Join(sortedKeys(intents), ", "))
}
