package protocol

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Identity is who makes a request. The zero value is nobody: a reader of public
// pages.
type Identity struct {
	Name   string   // account name; empty when signed out
	Orgs   []string // organizations the account belongs to
	Editor bool     // member of the organizing organization with the write or admin role, or a local editor token
	// EditorNote says what keeps somebody whom the hub vouches for from being an
	// editor, in a sentence; empty for editors and local tokens.
	EditorNote string
}

// SignedIn reports whether the request has an identity.
func (id Identity) SignedIn() bool { return id.Name != "" }

// MayAct reports whether the identity may launch, cancel, collect and plan for
// something that author owns (PROTOCOL §2: the author or an editor).
func (id Identity) MayAct(author string) bool {
	return id.SignedIn() && (id.Editor || id.Name == author)
}

// Role is what a route requires of its caller, in increasing strength.
type Role int

// The roles of the permission matrix. RoleAuthor needs the object to decide, so
// the router lets every signed-in caller through and the service decides with
// Identity.MayAct.
const (
	RolePublic Role = iota
	RoleSignedIn
	RoleAuthor
	RoleEditor
)

// String returns the role as PROTOCOL §4 writes it.
func (r Role) String() string {
	return [...]string{"public", "signed in", "author, editor", "editor"}[r]
}

// Admits returns nil when the identity passes the part of the role that needs
// no object, or the error that says what is missing.
func (r Role) Admits(id Identity) error {
	switch {
	case r == RolePublic:
		return nil
	case !id.SignedIn():
		return ErrSignedOut
	case r == RoleEditor && !id.Editor && id.EditorNote != "":
		return ErrEditorOnly.Detailf("Only an editor may do this. %s", id.EditorNote)
	case r == RoleEditor && !id.Editor:
		return ErrEditorOnly
	default:
		return nil
	}
}

// TokenPrefix starts every token that this arena issues itself. Any other
// bearer token belongs to the hub.
const TokenPrefix = "arena_"

// Token is a local token as the arena keeps it: without its secret, of which
// only the SHA-256 is stored.
type Token struct {
	ID        string // public handle, used to revoke it
	Name      string // the account it signs in as
	Editor    bool
	CreatedAt time.Time
	RevokedAt *time.Time
}

// Session is a sign-in with a browser as the arena keeps it: without its secret,
// of which only the SHA-256 is stored.
type Session struct {
	Who       Identity
	CreatedAt time.Time
	ExpiresAt time.Time
}

// SessionLife is how long a sign-in lasts. The hub is asked for roles at each, so
// that a change of them shows within this time.
const SessionLife = 8 * time.Hour

// Agent is a registered agent id. A registration is immutable and belongs to
// the identity that made it.
type Agent struct {
	ID          string
	Owner       string
	Description string
	Model       string // optional: the runtime's model
	Harness     string // optional: the runtime's harness
	CreatedAt   time.Time
}

var (
	agentPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,47}$`)
	requestPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{8,120}$`)
	namePattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$`)
)

// Sizes of an agent's optional texts, in bytes.
const (
	MaxAgentDescription = 2000
	MaxAgentRuntime     = 200
)

// CheckAgent returns what is wrong with a registration: the id's form
// (PROTOCOL §2: 2–48 of a-z 0-9 -, starting with a letter or digit, not
// human-…) and the sizes of its texts.
func CheckAgent(a Agent) []FieldError {
	var bad []FieldError
	switch {
	case !agentPattern.MatchString(a.ID):
		bad = append(bad, FieldError{"agent_id", "must be 2 to 48 lowercase letters, digits or hyphens, starting with a letter or digit"})
	case strings.HasPrefix(a.ID, "human-"):
		bad = append(bad, FieldError{"agent_id", "ids that start with human- are reserved for people"})
	}
	if len(a.Description) > MaxAgentDescription {
		bad = append(bad, FieldError{"description", "must be at most 2000 bytes"})
	}
	if len(a.Model) > MaxAgentRuntime {
		bad = append(bad, FieldError{"model", "must be at most 200 bytes"})
	}
	if len(a.Harness) > MaxAgentRuntime {
		bad = append(bad, FieldError{"harness", "must be at most 200 bytes"})
	}
	return bad
}

// SameRegistration reports whether two registrations of one id say the same, so
// that repeating a request is harmless.
func SameRegistration(a, b Agent) bool {
	return a.ID == b.ID && a.Owner == b.Owner && a.Description == b.Description && a.Model == b.Model && a.Harness == b.Harness
}

// CheckRequestID returns an error unless id is 8 to 120 of A-Z a-z 0-9 . _ -.
func CheckRequestID(id string) error {
	if !requestPattern.MatchString(id) {
		return ErrBadRequestID.WithFields(FieldError{"request_id", "must be 8 to 120 characters of A-Z a-z 0-9 . _ -"})
	}
	return nil
}

// CheckAccountName returns an error unless name can be an account name: 1 to 96
// of A-Z a-z 0-9 . _ -, starting with a letter or digit.
func CheckAccountName(name string) error {
	if !namePattern.MatchString(name) {
		return ErrInvalid.Detailf("account name %q must be 1 to 96 characters of A-Z a-z 0-9 . _ -, starting with a letter or digit", name)
	}
	return nil
}

// ActsAs decides whether id may use agentID, given the registration found under
// it (nil when there is none). An empty agentID means the person acts as
// themselves.
func ActsAs(id Identity, agentID string, found *Agent) error {
	switch {
	case agentID == "":
		return nil
	case found == nil:
		return ErrInvalid.Detailf("Agent %q is not registered. Register it first, or use agent_id null to act as yourself.", agentID).
			WithFields(FieldError{"agent_id", "is not registered"})
	case found.Owner != id.Name:
		return ErrForeignAgent
	default:
		return nil
	}
}

// EditorRoles are the roles in the organizing organization that make a member
// an editor (PROTOCOL §1).
func EditorRoles() []string { return []string{"write", "admin"} }

// IsEditorRole reports whether a role in the organizing organization makes its
// holder an editor.
func IsEditorRole(role string) bool { return slices.Contains(EditorRoles(), role) }
