package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// SignIn is an identity provider for browsers: an OAuth authorization code flow
// with PKCE.
type SignIn interface {
	// URL is where the browser goes.
	URL(state, verifier string) string
	// Exchange turns the query that it came back with into an access token. Its
	// errors are the protocol's.
	Exchange(ctx context.Context, answer url.Values, verifier string) (token string, err error)
}

const (
	// loginLife is how long a sign-in may take.
	loginLife = 10 * time.Minute
	// maxLogins is how many may be under way: more than one address may begin in the
	// time that a person takes.
	maxLogins = 10_000
	// maxNext bounds the address to return to, in bytes.
	maxNext = 500
)

// logins are the sign-ins that are under way, by their state. They live in memory:
// after a restart people start again.
type logins struct {
	mu  sync.Mutex
	all map[string]login
}

// login is one sign-in that is under way.
type login struct {
	verifier string
	next     string // where the browser goes afterwards
	until    time.Time
}

// begin remembers a sign-in under a new state. The oldest give way when there are
// too many, so that nobody can keep others from signing in for long.
func (l *logins) begin(next string, now time.Time) (state string, begun login) {
	begun = login{verifier: rand.Text() + rand.Text(), next: next, until: now.Add(loginLife)}
	state = rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]login{}
	}
	oldest := ""
	for s, other := range l.all {
		if !now.Before(other.until) {
			delete(l.all, s)
		} else if oldest == "" || other.until.Before(l.all[oldest].until) {
			oldest = s
		}
	}
	if len(l.all) >= maxLogins {
		delete(l.all, oldest)
	}
	l.all[state] = begun
	return state, begun
}

// end takes a sign-in out: a state works once.
func (l *logins) end(state string, now time.Time) (login, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	begun, ok := l.all[state]
	delete(l.all, state)
	return begun, ok && now.Before(begun.until)
}

// browser registers what only browsers use. It is not part of the API.
func (s *Server) browser(router *httprouter.Router) {
	for _, r := range []struct {
		name, method, path string
		handle             handler
	}{
		{"login", http.MethodGet, "/auth/login", s.login},
		{"callback", http.MethodGet, "/auth/callback", s.callback},
		{"logout", http.MethodPost, "/auth/logout", s.logout},
		{"application", http.MethodGet, applicationPath, s.application},
	} {
		route := api.Route{Name: r.name, Method: r.method, Path: r.path, Role: protocol.RolePublic}
		router.Handle(r.method, r.path, func(w http.ResponseWriter, req *http.Request, ps httprouter.Params) {
			s.serve(w, req, route, ps, r.handle)
		})
	}
}

// applicationPath is where the arena says as which application people sign in to it.
// The address itself may be its client id, so that it needs no registration at the
// hub (A17 of reference/hub-apis.md).
const applicationPath = "/.well-known/oauth-cimd"

// application is the document at that address.
func (s *Server) application(c *call) error {
	if s.SignIn == nil {
		return protocol.ErrNotFound.Detailf("Nobody signs in to this arena with a browser.")
	}
	base := strings.TrimSuffix(s.BaseURL, "/")
	return c.answer(http.StatusOK, map[string]any{
		"client_id": base + applicationPath, "client_name": "PostTrain Arena", "client_uri": base, "redirect_uris": []string{base + "/auth/callback"},
		"grant_types": []string{"authorization_code"}, "response_types": []string{"code"}, "scope": "openid profile read-memberships", "token_endpoint_auth_method": "none",
	})
}

// The names of the cookies. On https a prefix has the browser see to it that no
// other host has set them.
const (
	sessionCookie = "arena_session"
	loginCookie   = "arena_login"
)

func (s *Server) secure() bool { return strings.HasPrefix(s.BaseURL, "https://") }

func (s *Server) cookieName(name string) string {
	if s.secure() {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie for so long; an empty value deletes it.
func (c *call) setCookie(name, value string, life time.Duration) {
	cookie := http.Cookie{
		Name: c.server.cookieName(name), Value: value, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.server.secure(),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c.w, &cookie)
}

func (c *call) cookie(name string) string {
	k, err := c.r.Cookie(c.server.cookieName(name))
	if err != nil {
		return ""
	}
	return k.Value
}

// fromSession identifies a browser that has signed in. A session that is over is
// nobody. What is sent with a cookie must come from the arena's own pages, unless
// it only reads.
//
// In a frame nobody is signed in. The cookies are SameSite=Lax, so browsers do not send
// them to a frame in another site; for a frame in a sister site, to which they do, it
// is decided here. So no page that could be put under somebody's cursor has a form, and
// there is no reason for SameSite=None or a partitioned cookie.
func (c *call) fromSession() error {
	secret := c.cookie(sessionCookie)
	reads := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
	if secret == "" || c.server.SignIn == nil || reads && c.framed() {
		return nil
	}
	session, err := c.server.Service.SessionByHash(c.ctx(), sha256.Sum256([]byte(secret)))
	if errors.Is(err, protocol.ErrSignedOut) {
		return nil
	}
	if err != nil {
		return err
	}
	if !reads && (!c.sameOrigin() || c.framed()) {
		return protocol.ErrCrossOrigin
	}
	c.who = session.Who
	return nil
}

// sameOrigin reports whether a browser says that a page of the arena has sent the
// request. One that says nothing is not believed: it is not known to be new enough.
func (c *call) sameOrigin() bool {
	if site := c.r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	origin, err := url.Parse(c.r.Header.Get("Origin"))
	if err != nil || origin.Host == "" {
		return c.r.Header.Get("Sec-Fetch-Site") == "same-origin"
	}
	base, err := url.Parse(c.server.BaseURL)
	return err == nil && origin.Scheme == base.Scheme && strings.EqualFold(origin.Host, base.Host)
}

// login sends the browser to the hub. Inside a frame of another site the cookies
// that this needs would not be kept, so there it offers a new tab.
func (s *Server) login(c *call) error {
	if s.SignIn == nil {
		return protocol.ErrNotFound.Detailf("Nobody signs in to this arena with a browser. Use a token.")
	}
	next := localPath(c.query("next"))
	if c.framed() {
		return c.signInAnswer(http.StatusOK, signInPage{Title: "Sign in", Text: "Signing in needs a tab of its own.", Link: "/auth/login?next=" + url.QueryEscape(next), Label: "Sign in in a new tab", NewTab: true})
	}
	state, begun := s.logins.begin(next, s.Now())
	c.setCookie(loginCookie, state, loginLife)
	return c.seeOther(s.SignIn.URL(state, begun.verifier))
}

// callback ends a sign-in. The hub's token is used once, to ask who it belongs to.
func (s *Server) callback(c *call) error {
	if s.SignIn == nil {
		return protocol.ErrNotFound
	}
	// An answer to a sign-in that this browser has not begun changes nothing: whoever
	// leads it here must not end the one that it is in the middle of.
	var begun login
	state := c.query("state")
	ok := state != "" && state == c.cookie(loginCookie)
	if ok {
		// The hub is asked about each code, so codes are bounded as tokens are.
		if err := s.failed.take(address(c.r)); err != nil {
			return c.signInFailed(err)
		}
		c.setCookie(loginCookie, "", 0)
		begun, ok = s.logins.end(state, s.Now())
	}
	if !ok {
		return c.signInFailed(protocol.ErrSignIn.Detailf("This sign-in took too long, was used before, or began in another browser. Start again."))
	}
	token, err := s.SignIn.Exchange(c.ctx(), c.r.URL.Query(), begun.verifier)
	if err != nil {
		return c.signInFailed(err)
	}
	secret := rand.Text() + rand.Text()
	session, err := s.Service.SignIn(c.ctx(), c.requestID, token, sha256.Sum256([]byte(secret)))
	if err != nil {
		return c.signInFailed(err)
	}
	if err := c.endSession(); err != nil {
		return err
	}
	c.who = session.Who
	c.setCookie(sessionCookie, secret, protocol.SessionLife)
	return c.seeOther(begun.next)
}

// logout ends the session, of this browser alone. Another site that sends a browser
// here sends no cookie along, but the answer would take the cookie away: so it is
// asked where it comes from with and without one.
func (s *Server) logout(c *call) error {
	if !c.sameOrigin() || c.framed() {
		return protocol.ErrCrossOrigin
	}
	if err := c.endSession(); err != nil {
		return err
	}
	c.setCookie(sessionCookie, "", 0)
	return c.seeOther("/")
}

// endSession ends the session that the browser has, if it has one.
func (c *call) endSession() error {
	secret := c.cookie(sessionCookie)
	if secret == "" || !c.who.SignedIn() {
		return nil
	}
	return c.server.Service.Store.CloseSession(c.ctx(), c.by(), sha256.Sum256([]byte(secret)))
}

// localPath is an address to return to if it is one of the arena's own, else the
// first page.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || len(next) > maxNext || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") || strings.HasPrefix(u.Path, "//") || strings.HasPrefix(u.Path, "/auth/") {
		return "/"
	}
	return next
}

func (c *call) seeOther(to string) error {
	h := c.w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	c.bound()
	c.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// signInFailed shows a person why a sign-in came to nothing, and where to start
// again. What is a fault of the arena is logged as such.
func (c *call) signInFailed(err error) error {
	e := protocol.AsError(err)
	if e.Kind == protocol.KindInternal {
		return err
	}
	if e.Err != nil {
		c.server.Log.Warn("sign-in refused", "request_id", c.requestID, "code", e.Code, "error", e.Err)
	}
	if e.RetryAfter > 0 {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	return c.signInAnswer(e.Kind.Status(), signInPage{Title: "Not signed in", Text: e.Detail, Link: "/auth/login", Label: "Sign in again"})
}

// signInPage is what little of HTML a sign-in needs.
type signInPage struct {
	Title, Text, Link, Label string
	NewTab                   bool
}

// signInTemplate is the page of a sign-in that cannot go on by itself.
const signInTemplate = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title></head>
<body><h1>{{.Title}}</h1><p>{{.Text}}</p><p><a href="{{.Link}}"{{if .NewTab}} target="_blank" rel="noopener"{{end}}>{{.Label}}</a></p></body></html>
`

func (c *call) signInAnswer(status int, p signInPage) error {
	t, err := template.New("sign-in").Parse(signInTemplate)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	const policy = "default-src 'none'; base-uri 'none'; form-action 'none'"
	c.policy(policy)
	if p.NewTab && len(c.server.FrameAncestors) == 0 { // it is there for frames; all it holds is a link
		h.Set("Content-Security-Policy", policy)
		h.Del("X-Frame-Options")
	}
	h.Set("Cache-Control", "no-store")
	c.bound()
	c.w.WriteHeader(status)
	_, _ = c.w.Write([]byte(b.String())) // the browser is gone; there is nobody to tell
	return nil
}
