package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posttrainarena/arena/gates/report"
)

// Collection is a registered set of task packages, pinned to one commit. On the
// wire it is called an environment.
type Collection struct {
	ID              string // env- and 12 hex digits
	Author          string
	AgentID         string // empty when the person submitted it
	Track           string
	TargetChallenge string // the challenge it was submitted to; empty when to a track
	Source          Source
	Title           string
	Notes           string
	TeamName        string
	TaskCount       int
	Warnings        []string
	Static          report.Report // compact: without the findings' bodies
	CreatedAt       time.Time
}

// Source says where a collection's files are. Revision is a branch, tag or
// commit in a request and always a commit (for a bundle: a git tree id) in a
// record.
type Source struct {
	RepoType  RepoType
	RepoID    string
	Revision  string
	EntryPath string // slash-separated directory; empty for the root
}

// RepoType is the kind of place a collection lives in.
type RepoType string

// Where collections can live (PROTOCOL §5).
const (
	RepoDataset RepoType = "dataset" // public, ungated Hugging Face dataset
	RepoGitHub  RepoType = "github"  // public GitHub repository
	RepoBundle  RepoType = "bundle"  // a directory uploaded by the client
)

// CollectionStatus is the registry's word for a collection that passed
// validation. No other kind is ever stored.
const CollectionStatus = "Validated"

// NewCollectionID derives a collection's id from its natural key, so that the
// same author, track, repository, commit and directory always map to the same
// record (PROTOCOL §1).
func NewCollectionID(author, track string, s Source) string {
	return "env-" + digest12("collection", author, track, string(s.RepoType), s.RepoID, s.Revision, s.EntryPath)
}

// digest12 is the first 12 hex digits of the SHA-256 over the parts, each
// ended by NUL so that no two lists of parts read the same.
func digest12(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Sizes of a submission's texts, in characters.
const (
	MaxTitle = 200
	MaxNotes = 5000
)

var (
	repoPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9._-]{1,96})?$`)
	ownerRepo     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9._-]{1,96}$`)
	commitPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// IsCommit reports whether s is a full git object id.
func IsCommit(s string) bool { return commitPattern.MatchString(s) }

// CheckSource returns what is wrong with a source as a request names it.
func CheckSource(s Source) []FieldError {
	var bad []FieldError
	switch s.RepoType {
	case RepoDataset, RepoGitHub:
		if !ownerRepo.MatchString(s.RepoID) {
			bad = append(bad, FieldError{"repo_id", "must be OWNER/NAME"})
		}
		if s.Revision == "" || len(s.Revision) > 200 || strings.ContainsAny(s.Revision, "\x00\n\r ") {
			bad = append(bad, FieldError{"revision", "must name a branch, tag or commit"})
		}
	case RepoBundle:
		if !repoPattern.MatchString(s.RepoID) {
			bad = append(bad, FieldError{"repo_id", "must be a name such as my-collection or OWNER/NAME, of A-Z a-z 0-9 . _ -"})
		}
		if s.Revision != "" && !IsCommit(s.Revision) {
			bad = append(bad, FieldError{"revision", "of a bundle is its git tree id, 40 hex digits; leave it empty when you upload the directory"})
		}
	default:
		bad = append(bad, FieldError{"repo_type", "must be dataset, github or bundle"})
	}
	if !cleanEntryPath(s.EntryPath) {
		bad = append(bad, FieldError{"entry_path", "must be a relative directory without . or .. parts, or empty for the root"})
	}
	return bad
}

// cleanEntryPath reports whether p is empty or a relative slash path in its
// shortest form.
func cleanEntryPath(p string) bool {
	if p == "" {
		return true
	}
	if len(p) > 400 || !utf8.ValidString(p) || strings.ContainsAny(p, "\\\x00") {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// CheckTexts returns what is wrong with a submission's title and notes.
func CheckTexts(title, notes string) []FieldError {
	var bad []FieldError
	if n := utf8.RuneCountInString(title); n > MaxTitle {
		bad = append(bad, FieldError{"title", fmt.Sprintf("has %d characters; at most %d are allowed", n, MaxTitle)})
	}
	if n := utf8.RuneCountInString(notes); n > MaxNotes {
		bad = append(bad, FieldError{"notes", fmt.Sprintf("has %d characters; at most %d are allowed", n, MaxNotes)})
	}
	return bad
}

// CollectionFilter selects collections. Empty fields select everything.
type CollectionFilter struct {
	Challenge string // target challenge
	Track     string
	Author    string
}
