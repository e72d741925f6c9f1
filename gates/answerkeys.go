package gates

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// answerWord says how strongly a word of a file name suggests an answer (seed 003, static gates).
type answerWord int

const (
	noAnswer   answerWord = iota
	weakAnswer            // labels, references and keys are mostly inputs: of what they are decides
	plainAnswer
)

func wordStrength(word string) answerWord {
	switch word {
	case "truth", "truths", "groundtruth", "oracle", "oracles", "expected", "answer", "answers", "gold", "golden", "solution", "solutions", "solved":
		return plainAnswer
	case "label", "labels", "reference", "references", "ref", "refs", "key", "keys":
		return weakAnswer
	}
	return noAnswer
}

// ofResults reports whether a word beside a weak one says that it is about results.
func ofResults(word string) bool {
	switch word {
	case "output", "outputs", "result", "results", "test", "eval", "holdout", "heldout", "hidden", "grading", "grader", "score", "scoring",
		"target", "targets", "correct", "final", "verifier", "implementation", "impl", "quiz", "exam":
		return true
	}
	return false
}

// answerLike reports whether a file is named like an answer key. A weak word counts beside one that says of which
// results, as in reference_output, or as the whole name of a data file, as in labels.csv.
func answerLike(name string) bool {
	words := nameWords(name)
	weak := false
	for _, w := range words {
		switch wordStrength(w) {
		case plainAnswer:
			return true
		case weakAnswer:
			weak = true
		}
	}
	if !weak {
		return false
	}
	return slices.ContainsFunc(words, ofResults) || len(words) == 1 && dataFile(name) && !strings.HasPrefix(words[0], "key")
}

// keyLike is answerLike for a file that the verifier is known to read: there a weak word suffices, but for "key",
// which is mostly one of a cipher or a service.
func keyLike(name string) bool {
	return answerLike(name) || slices.ContainsFunc(nameWords(name), func(w string) bool {
		return wordStrength(w) == weakAnswer && !strings.HasPrefix(w, "key")
	})
}

// nameWords splits the base name of a file, without its ending, into words in lower case: at everything that is no
// letter, and before a capital letter after a small one.
func nameWords(name string) []string {
	base := path.Base(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	if stem == "" {
		stem = base // a dot file
	}
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	small := false
	for _, r := range stem {
		if !unicode.IsLetter(r) || unicode.IsUpper(r) && small {
			flush()
		}
		if unicode.IsLetter(r) {
			word = append(word, r)
		}
		small = unicode.IsLower(r)
	}
	flush()
	return words
}

// dataFile reports whether a file's ending is one that holds tables or values.
func dataFile(name string) bool {
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

// verifierLike reports whether a file is named like a part of a verifier. Names such as run_tests.sh or
// verify-install.sh belong to many projects that a task is about.
func verifierLike(name string) bool {
	switch strings.ToLower(path.Base(name)) {
	case "test.sh", "run-tests.sh", "test_outputs.py", "verifier.md", "ctrf.json":
		return true
	}
	words := nameWords(name)
	if len(words) == 1 && (words[0] == "verify" || words[0] == "grade") {
		return true
	}
	for i, word := range words {
		switch word {
		case "grader", "grading", "verifier", "rubric", "scorer", "judge":
			return true
		case "verify", "grade", "check", "score":
			if i+1 < len(words) && graded(words[i+1]) {
				return true
			}
		}
	}
	return false
}

// graded reports whether a word names what an attempt leaves behind.
func graded(word string) bool {
	switch strings.TrimSuffix(word, "s") {
	case "output", "solution", "answer", "result", "submission", "task", "attempt":
		return true
	}
	return false
}
