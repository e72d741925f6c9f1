package task

import "strings"

// nearest returns the candidate with the fewest edits from word, ignoring case, if that is at most most edits;
// otherwise the empty string. The first of equally near candidates wins.
func nearest(word string, candidates []string, most int) string {
	if len(word) > 64 {
		return ""
	}
	best, bestEdits := "", most+1
	for _, c := range candidates {
		if n := edits(strings.ToLower(word), strings.ToLower(c)); n < bestEdits {
			best, bestEdits = c, n
		}
	}
	return best
}

// edits is the Levenshtein distance of two short byte strings.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
