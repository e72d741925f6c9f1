package gates

import (
	"path"
	"regexp"
	"strings"
)

// keyWords are the words that make a file name sound like an answer key (seed 003, static gates).
var keyWords = regexp.MustCompile(`(?i)(^|[^a-z])(truths?|groundtruth|oracles?|expected|answers?|gold|golden|labels?|solutions?|solved|references?|refs?|keys?)([^a-z]|$)`)

// notAKey are names that contain such a word and are something else: lists of cited works, key files of a protocol,
// API documentation.
var notAKey = regexp.MustCompile(`(?i)(api[-_]?keys?|public[-_]?keys?|private[-_]?keys?|ssh|gpg|known[-_]?hosts|authorized[-_]?keys|keyboard|\.pub$|\.pem$|\.key$|\.crt$|\.bib$)`)

// answerLike reports whether a file is named like an answer key. A lone "key" or "ref" counts only beside another
// word that says of what, as in answer_key or ref_output.
func answerLike(name string) bool {
	base := path.Base(name)
	if notAKey.MatchString(base) {
		return false
	}
	stem := camelSplit(strings.TrimSuffix(base, path.Ext(base)))
	for _, m := range keyWords.FindAllStringSubmatch(stem, -1) {
		switch strings.ToLower(strings.TrimSuffix(m[2], "s")) {
		case "key", "ref", "reference", "label":
			if strongData(base) || strings.ContainsAny(stem, "_-. ") && !codeFile(base) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// camelSplit puts an underscore between a small and a capital letter, so that groundTruth is two words.
func camelSplit(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if i > 0 && name[i] >= 'A' && name[i] <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// strongData reports whether a file's ending is one that holds expected results.
func strongData(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".jsonl", ".csv", ".tsv", ".npy", ".npz", ".parquet", ".pkl":
		return true
	}
	return false
}

// codeFile reports whether a file holds program text.
func codeFile(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".go", ".rs", ".c", ".cc", ".cpp", ".h", ".hpp", ".java", ".rb", ".pl", ".php",
		".lua", ".r", ".jl", ".kt", ".swift", ".scala", ".hs", ".ml", ".sql", ".patch", ".diff", ".awk", ".sed", ".ipynb":
		return true
	}
	return false
}

// verifierLike reports whether a file is named like a part of a verifier.
func verifierLike(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch base {
	case "test.sh", "tests.sh", "run_tests.sh", "run-tests.sh", "test_outputs.py", "verifier.md", "ctrf.json":
		return true
	}
	stem, _, _ := strings.Cut(base, ".")
	for _, word := range strings.FieldsFunc(stem, func(r rune) bool { return r == '_' || r == '-' }) {
		switch word {
		case "grader", "grade", "grading", "verifier", "verify", "rubric", "scorer", "judge":
			return true
		}
	}
	return false
}
