package protocol

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is one post on the shared board.
type Message struct {
	Filename  string // stable name, the target of refs
	RequestID string
	Author    string
	AgentID   string // empty when the person posts as themselves
	Body      string
	Refs      []string // filenames of the messages it replies to
	CreatedAt time.Time
}

// Limits of a board message.
const (
	MaxMessageRunes = 10_000
	MaxMessageRefs  = 20
)

var filenamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,160}$`)

// CheckMessage returns what is wrong with a post: its body must hold 1 to
// 10,000 characters that are not all blank, and every ref must look like a
// filename. Whether the refs exist is for the store to say.
func CheckMessage(m Message) []FieldError {
	var bad []FieldError
	n := utf8.RuneCountInString(m.Body)
	switch {
	case !utf8.ValidString(m.Body):
		bad = append(bad, FieldError{"body", "must be valid UTF-8"})
	case n == 0 || strings.TrimSpace(m.Body) == "":
		bad = append(bad, FieldError{"body", "must not be empty"})
	case n > MaxMessageRunes:
		bad = append(bad, FieldError{"body", fmt.Sprintf("has %d characters; at most 10,000 are allowed", n)})
	}
	if len(m.Refs) > MaxMessageRefs {
		bad = append(bad, FieldError{"refs", "at most 20 messages can be referred to"})
	}
	for i, ref := range m.Refs {
		if !filenamePattern.MatchString(ref) {
			bad = append(bad, FieldError{fmt.Sprintf("refs[%d]", i), "is not the filename of a message"})
		}
	}
	return bad
}

// MessageFilename is the stable name of a post: its time in UTC, who posted it
// and a suffix that keeps two posts of one second apart.
func MessageFilename(m Message, suffix string) string {
	who := m.AgentID
	if who == "" {
		who = "human-" + strings.ToLower(m.Author)
	}
	return fmt.Sprintf("%s-%s-%s.md", m.CreatedAt.UTC().Format("20060102T150405Z"), who, suffix)
}
