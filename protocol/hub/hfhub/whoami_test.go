package hfhub_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/hfhub"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// personToken is what a person signs in with in these tests.
const personToken = "hf_personCANARYpersonCANARYpersonCANARY"

// TestEditors goes through the conditions of an editor. What falls short of one is
// a person who is signed in, with the reason.
func TestEditors(t *testing.T) {
	org := func(name, role string) hubtest.Org { return hubtest.Org{Name: name, Role: role} }
	for name, tc := range map[string]struct {
		token  hubtest.Token
		editor bool
		note   string
	}{
		"admin":             {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{org("other", "admin"), org("benchflow", "admin")}}}, editor: true},
		"write":             {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{org("BenchFlow", "write")}}}, editor: true},
		"fine-grained":      {token: hubtest.Token{Kind: "fineGrained", Shows: []string{"benchflow"}, Account: hubtest.Account{Orgs: []hubtest.Org{org("benchflow", "write")}}}, editor: true},
		"contributor":       {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{org("benchflow", "contributor")}}}, note: "is contributor"},
		"read":              {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{org("benchflow", "read")}}}, note: "is read"},
		"no access":         {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{org("benchflow", "no_access")}}}, note: "is no_access"},
		"a word of later":   {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{org("benchflow", "owner")}}}, note: "is owner"},
		"role not shown":    {token: hubtest.Token{NoRoles: true, Account: hubtest.Account{Orgs: []hubtest.Org{org("benchflow", "admin")}}}, note: "does not show your role"},
		"org not shown":     {token: hubtest.Token{Kind: "fineGrained", Shows: []string{}, Account: hubtest.Account{Orgs: []hubtest.Org{org("benchflow", "admin")}}}, note: "not a member"},
		"locked out by mfa": {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{{Name: "benchflow", Role: "admin", Restrictions: []string{"mfa"}}}}}, note: "mfa"},
		"an org that calls itself so": {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{
			{Name: "evil", Fullname: "benchflow", Role: "admin"}, {Name: "benchfl0w", Fullname: "BenchFlow", Role: "admin"}, {Name: "benchflow-", Role: "admin"},
		}}}, note: "not a member"},
		"admin elsewhere, reader here": {token: hubtest.Token{Account: hubtest.Account{Orgs: []hubtest.Org{org("other", "admin"), org("benchflow", "read")}}}, note: "is read"},
		"nobody":                       {note: "not a member"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := hubtest.NewHuggingFace(t)
			tc.token.Account.Name = "ada"
			fake.Issue(personToken, tc.token)
			who, err := hfhub.NewPeople(options(t, fake), "benchflow").Whoami(t.Context(), personToken)
			if err != nil {
				t.Fatal(err)
			}
			if who.Name != "ada" || who.Editor != tc.editor || !strings.Contains(who.EditorNote, tc.note) {
				t.Errorf("%+v", who)
			}
			err = protocol.RoleEditor.Admits(who)
			if tc.editor != (err == nil) || err != nil && !strings.Contains(protocol.AsError(err).Detail, tc.note) {
				t.Errorf("an editor's route says %v", err)
			}
		})
	}
}

// TestOrganizationByItsID: the id of an organization does as well as its slug, and
// a slug that somebody else took over does not; nor does a slug that is spelled like the
// id, or a membership in what is no organization.
func TestOrganizationByItsID(t *testing.T) {
	const id = "0123456789abcdef01234567"
	fake := hubtest.NewHuggingFace(t)
	fake.Issue(personToken, hubtest.Token{Account: hubtest.Account{Name: "ada", Orgs: []hubtest.Org{{ID: id, Name: "renamed", Role: "admin"}}}})
	fake.Issue(personToken+"2", hubtest.Token{Account: hubtest.Account{Name: "eve", Orgs: []hubtest.Org{{Name: "benchflow", Role: "admin"}}}})
	fake.Issue(personToken+"3", hubtest.Token{Account: hubtest.Account{Name: "eve", Orgs: []hubtest.Org{{Name: id, Role: "admin"}}}})
	people := hfhub.NewPeople(options(t, fake), id)
	for token, want := range map[string]bool{personToken: true, personToken + "2": false, personToken + "3": false} {
		if who, err := people.Whoami(t.Context(), token); err != nil || who.Editor != want {
			t.Errorf("%+v, %v", who, err)
		}
	}
	if who, err := hfhub.NewPeople(options(t, fake), "").Whoami(t.Context(), personToken); err != nil || who.Editor {
		t.Errorf("without an organization somebody is an editor: %+v, %v", who, err)
	}
	fake.Fail("GET /api/whoami-v2", 0, hubtest.Text("application/json", `{"type":"user","name":"eve","orgs":[{"type":"user","id":"`+id+`","name":"eve","roleInOrg":"admin"}]}`))
	if who, err := people.Whoami(t.Context(), personToken); err != nil || who.Editor {
		t.Errorf("a user counts as an organization: %+v, %v", who, err)
	}
}

// TestWhoamiFailures: what the hub does not vouch for is never let in.
func TestWhoamiFailures(t *testing.T) {
	const whoami = "GET /api/whoami-v2"
	bad, away := protocol.ErrBadToken, protocol.ErrUnavailable
	for name, tc := range map[string]struct {
		token *hubtest.Token
		fault hubtest.Fault
		want  *protocol.Error
		say   string
	}{
		"unknown":          {want: bad, say: "expired, was revoked or is mistyped"},
		"revoked":          {token: &hubtest.Token{Revoked: true}, want: bad, say: "revoked"},
		"expired":          {token: &hubtest.Token{Expired: time.Unix(1, 0)}, want: bad, say: "expired"},
		"an app":           {token: &hubtest.Token{Account: hubtest.Account{Type: "app"}}, want: protocol.ErrForbidden, say: `"app"`},
		"an organization":  {token: &hubtest.Token{Account: hubtest.Account{Type: "org"}}, want: protocol.ErrForbidden, say: `"org"`},
		"403":              {fault: hubtest.Status(403), want: protocol.ErrForbidden, say: "Forbidden"},
		"404":              {fault: hubtest.Status(404), want: away},
		"409":              {fault: hubtest.Status(409), want: away},
		"429":              {fault: hubtest.Status(429, "Retry-After", "44"), want: away, say: "44s"},
		"500":              {fault: hubtest.Status(500), want: away},
		"502, a page":      {fault: hubtest.Page(502), want: away},
		"200, a page":      {fault: hubtest.Page(200), want: away, say: "instead of JSON"},
		"another type":     {fault: hubtest.WrongType("text/html"), token: &hubtest.Token{}, want: away},
		"null":             {fault: hubtest.Text("application/json", "null"), want: away, say: "no person"},
		"of no kind":       {fault: hubtest.Text("application/json", `{"name":"ada"}`), want: away, say: "no person"},
		"a user's null":    {fault: hubtest.Text("application/json", `{"type":"user"}`), want: away},
		"a name that lies": {fault: hubtest.Text("application/json", `{"type":"user","name":"../ada"}`), want: away},
		"cut":              {fault: hubtest.Cut(10), token: &hubtest.Token{}, want: away},
		"stalls":           {fault: hubtest.Stall(10), token: &hubtest.Token{}, want: away},
		"breaks":           {fault: hubtest.Reset(), want: away},
		"a loop":           {fault: hubtest.Loop(), want: away},
		"goes elsewhere":   {fault: hubtest.Redirect(302, "http://127.0.0.1:1/"), want: away},
		"too large":        {fault: hubtest.Text("application/json", `{"type":"user","name":"ada","x":"`+strings.Repeat("x", 5<<20)+`"}`), want: away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := hubtest.NewHuggingFace(t)
			if tc.token != nil {
				tc.token.Account.Name = "ada"
				fake.Issue(personToken, *tc.token)
			}
			if tc.fault != nil {
				fake.Fail(whoami, 0, tc.fault)
			}
			o := options(t, fake)
			if name == "stalls" {
				o.Timeout = 50 * time.Millisecond
			}
			who, err := hfhub.NewPeople(o, "benchflow").Whoami(t.Context(), personToken)
			if !errors.Is(err, tc.want) || who.SignedIn() {
				t.Fatalf("%+v, %v; want %s", who, err, tc.want.Code)
			}
			if e := protocol.AsError(err); !strings.Contains(e.Detail, tc.say) {
				t.Errorf("it says %q, not %q", e.Detail, tc.say)
			}
			if strings.Contains(err.Error(), personToken) {
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
}

// TestTokenGoesNowhereElse: a hub that redirects to another origin, or repeats the
// token in a refusal, does not spread it.
func TestTokenGoesNowhereElse(t *testing.T) {
	fake := hubtest.NewHuggingFace(t)
	fake.Issue(personToken, hubtest.Token{Account: hubtest.Account{Name: "ada"}})
	people := hfhub.NewPeople(options(t, fake), "benchflow")
	fake.Fail("GET /api/whoami-v2", 0, hubtest.Redirect(http.StatusFound, fake.CDN.URL+"/whoami"))
	if who, err := people.Whoami(t.Context(), personToken); err == nil {
		t.Errorf("%+v", who)
	}
	if n := fake.CDN.Calls("GET /whoami"); n == 0 {
		t.Error("the redirect was not followed, so nothing was shown")
	}
	fake.Heal()
	fake.Fail("GET /api/whoami-v2", 0, hubtest.Status(400, "X-Error-Message", "what is Bearer "+personToken+" to me"))
	if _, err := people.Whoami(t.Context(), personToken); err == nil || strings.Contains(err.Error(), personToken) {
		t.Errorf("%v", err)
	}
	fake.Heal()
	fake.Forget()
	if _, err := people.Whoami(t.Context(), "hf_a\r\nX-Evil: 1"); !errors.Is(err, protocol.ErrBadToken) || fake.Calls("") != 0 {
		t.Errorf("%v after %d requests", err, fake.Calls(""))
	}
}
