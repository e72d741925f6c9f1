package hfhub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// People asks the hub who somebody is. It implements hub.People.
type People struct {
	options Options
	client  *outbound.Client
	org     string
}

// NewPeople makes the client. Members of the organization with the write or admin
// role are editors; it is named by its slug or its id of 24 hex digits.
func NewPeople(o Options, editorOrganization string) *People {
	p := &People{options: o, client: o.client(), org: editorOrganization}
	p.client.Pauses, p.client.MaxWait = []time.Duration{500 * time.Millisecond}, time.Second // somebody waits for each answer
	return p
}

// principal is the answer of whoami (A2, A3).
type principal struct {
	Type string       `json:"type"`
	ID   string       `json:"id"`
	Name string       `json:"name"`
	Orgs []membership `json:"orgs"`
}

type membership struct {
	Type         string   `json:"type"`
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Role         string   `json:"roleInOrg"` // empty: not shown to this token (A6)
	Restrictions []string `json:"securityRestrictions"`
}

// orgID is the form of an organization's id.
var orgID = regexp.MustCompile(`^[0-9a-f]{24}$`)

// maxOrgs bounds the organizations that an identity carries.
const maxOrgs = 500

// Whoami returns who a token of the hub belongs to: ErrBadToken when the hub does
// not take it, ErrForbidden when it is not a person's, ErrUnavailable when the
// hub cannot say.
func (p *People) Whoami(ctx context.Context, token string) (protocol.Identity, error) {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return protocol.Identity{}, protocol.ErrBadToken
	}
	var who principal
	call := outbound.Call{
		Doing: "ask the hub who a token belongs to", URL: p.options.at("api", "whoami-v2"), Header: accept(), Token: token,
		Timeout: timeout(p.options, 12*time.Second),
	}
	err := p.client.Do(ctx, call, func(resp *http.Response) error { return outbound.JSON(resp, 4<<20, &who) })
	if err != nil {
		return protocol.Identity{}, whoamiError(err)
	}
	if who.Type != "user" && who.Type != "" {
		return protocol.Identity{}, protocol.ErrForbidden.Detailf("This is a token of the kind %q. Use one of a person.", who.Type)
	}
	if err := validSlug(who.Name); err != nil || who.Type == "" || len(who.Orgs) > maxOrgs {
		return protocol.Identity{}, away("identifying you", &outbound.Error{Doing: call.Doing, Host: "the hub", Status: http.StatusOK, Err: errors.Join(errors.New("the answer names no person"), err)})
	}
	id := protocol.Identity{Name: who.Name}
	for _, o := range who.Orgs {
		if o.Type == "org" && o.Name != "" {
			id.Orgs = append(id.Orgs, o.Name)
		}
	}
	id.EditorNote = p.whyNot(who.Orgs)
	id.Editor = id.EditorNote == ""
	return id, nil
}

// whyNot returns the condition of A6 that keeps a member from being an editor,
// empty when all hold.
func (p *People) whyNot(orgs []membership) string {
	for _, o := range orgs {
		called := strings.EqualFold(o.Name, p.org)
		if orgID.MatchString(p.org) { // anybody may choose a name that is spelled like an id
			called = o.ID == p.org
		}
		if o.Type != "org" || !called || p.org == "" {
			continue
		}
		switch {
		case o.Role == "":
			return fmt.Sprintf("Your token does not show your role in %s: use a classic read token, or sign in with the browser and approve the organization.", o.Name)
		case len(o.Restrictions) > 0:
			return fmt.Sprintf("%s restricts your access (%s): satisfy it on the hub first.", o.Name, strings.Join(o.Restrictions, ", "))
		case !protocol.IsEditorRole(o.Role):
			return fmt.Sprintf("Your role in %s is %s; write or admin is needed.", o.Name, o.Role)
		default:
			return ""
		}
	}
	return fmt.Sprintf("You are not a member of %s, or your token does not show it.", p.org)
}

// whoamiError is what the arena says for the failures of A9.
func whoamiError(err error) error {
	e, ok := errors.AsType[*outbound.Error](err)
	switch {
	case ok && e.Status == http.StatusUnauthorized:
		return protocol.ErrBadToken.Detailf("The hub does not accept this token: it has expired, was revoked or is mistyped.").Because(err)
	case ok && e.Status == http.StatusForbidden && e.Err == nil:
		return protocol.ErrForbidden.Detailf("The hub does not say whose token this is: %s. Use a read token of a person.", e.Message).Because(err)
	default:
		return away("identifying you", err)
	}
}

func timeout(o Options, otherwise time.Duration) time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return otherwise
}
