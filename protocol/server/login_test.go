package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/hub/hfhub"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/outbound"
)

const (
	publicURL = "http://arena.test"
	clientID  = "arena-app"
)

// door is a site whose people sign in at a fake hub, and a browser in front of it.
type door struct {
	*site
	hub     *hubtest.HuggingFace
	now     time.Time
	cookies map[string]string
}

// newDoor opens a site at a public address. Its editor organization is benchflow.
func newDoor(t *testing.T, public string, change ...func(*options)) *door {
	t.Helper()
	d := &door{hub: hubtest.NewHuggingFace(t), now: time.Now(), cookies: map[string]string{}}
	d.hub.App = hubtest.App{ID: clientID, Secret: "s3cret-of-the-application", Redirect: public + "/auth/callback", Person: hubtest.Account{
		Name: "ada", Orgs: []hubtest.Org{{Name: "benchflow", Role: "write"}, {Name: "evil", Fullname: "benchflow", Role: "admin"}},
	}}
	transport := outbound.NewTransport(4)
	t.Cleanup(transport.CloseIdleConnections)
	o := hfhub.Options{URL: d.hub.URL, Transport: transport, UserAgent: "arena/test", Now: time.Now}
	d.site = newSite(t, append([]func(*options){func(o2 *options) {
		o2.service.People, o2.service.PeopleCache = hfhub.NewPeople(o, "benchflow"), 5*time.Minute
		o2.server.SignIn = hfhub.NewSignIn(o, clientID, d.hub.App.Secret, d.hub.App.Redirect)
		o2.server.BaseURL = public
		o2.server.Now = func() time.Time { return d.now }
	}}, change...)...)
	return d
}

// page is an answer to a browser.
type page struct {
	*http.Response
	body string
}

// browse asks as a browser does: with its cookies, which it keeps, and following
// nothing. Headers come as name, value, ….
func (d *door) browse(method, address string, header ...string) page {
	d.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = d.URL + address
	}
	r, err := http.NewRequestWithContext(d.t.Context(), method, address, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("User-Agent", "Mozilla/5.0")
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	if strings.HasPrefix(address, d.URL) {
		for name, value := range d.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	resp, err := d.Client().Transport.RoundTrip(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, k := range resp.Cookies() {
		if !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.Path != "/" || k.Domain != "" || k.Secure != strings.HasPrefix(d.server.BaseURL, "https://") {
			d.t.Errorf("the cookie %s is %v", k.Name, k)
		}
		if k.MaxAge < 0 {
			delete(d.cookies, k.Name)
		} else {
			d.cookies[k.Name] = k.Value
		}
	}
	return page{resp, string(body)}
}

// signIn goes to the hub and back, up to the answer of the callback.
func (d *door) signIn(next string) page {
	d.t.Helper()
	out := d.browse("GET", "/auth/login?next="+url.QueryEscape(next))
	if out.StatusCode != http.StatusSeeOther {
		d.t.Fatalf("login: %s %s", out.Status, out.body)
	}
	return d.browse("GET", d.callback(out))
}

// callback is the address at the arena that the hub sends the browser back to.
func (d *door) callback(login page) string {
	d.t.Helper()
	back := d.browse("GET", login.Header.Get("Location")).Header.Get("Location")
	rest, ok := strings.CutPrefix(back, d.hub.App.Redirect)
	if !ok {
		d.t.Fatalf("the hub sends the browser to %q", back)
	}
	return "/auth/callback" + rest
}

// TestSignInWithABrowser signs in, reads and writes as that person, and signs out.
func TestSignInWithABrowser(t *testing.T) {
	t.Parallel()
	d := newDoor(t, publicURL)
	in := d.signIn("/arena?x=1")
	if in.StatusCode != http.StatusSeeOther || in.Header.Get("Location") != "/arena?x=1" || in.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s to %q: %s", in.Status, in.Header.Get("Location"), in.body)
	}
	secret := d.cookies["arena_session"]
	if len(secret) < 40 || d.cookies["arena_login"] != "" {
		t.Fatalf("cookies %v", d.cookies)
	}
	who := d.browse("GET", "/api/whoami")
	if who.StatusCode != 200 || !strings.Contains(who.body, `"name":"ada"`) || !strings.Contains(who.body, `"editor":true`) || !strings.Contains(who.Header.Get("Cache-Control"), "private") {
		t.Errorf("%s %s", who.Status, who.body)
	}
	asked := d.hub.Calls("GET /api/whoami-v2")
	for range 3 {
		d.browse("GET", "/api/whoami")
	}
	if n := d.hub.Calls("GET /api/whoami-v2"); n != asked || asked != 1 {
		t.Errorf("the hub was asked %d times, then %d", asked, n)
	}
	d.hub.Down(true) // a session needs no hub
	if who := d.browse("GET", "/api/whoami"); who.StatusCode != 200 {
		t.Errorf("while the hub is down: %s", who.Status)
	}
	if out := d.browse("POST", "/auth/logout", "Origin", publicURL); out.StatusCode != http.StatusSeeOther || d.cookies["arena_session"] != "" {
		t.Errorf("%s, cookies %v", out.Status, d.cookies)
	}
	d.cookies["arena_session"] = secret // somebody kept it
	if who := d.browse("GET", "/api/whoami"); who.StatusCode != 401 {
		t.Errorf("after signing out: %s", who.Status)
	}
	if all := d.browse("GET", "/api/challenges"); all.StatusCode != 200 {
		t.Errorf("a session that is over keeps somebody from public pages: %s", all.Status)
	}
}

// TestWritesWithACookieComeFromHere: another site can make a browser send its
// cookies, and gets nothing done.
func TestWritesWithACookieComeFromHere(t *testing.T) {
	t.Parallel()
	d := newDoor(t, publicURL)
	d.signIn("/")
	for name, tc := range map[string]struct {
		header []string
		code   int
	}{
		"own page":              {[]string{"Origin", publicURL, "Sec-Fetch-Site", "same-origin"}, 415},
		"own page, older":       {[]string{"Origin", publicURL}, 415},
		"own page, no origin":   {[]string{"Sec-Fetch-Site", "same-origin"}, 415},
		"nothing said":          {nil, 403},
		"another site":          {[]string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		"another site, older":   {[]string{"Origin", "https://evil.example"}, 403},
		"a sibling":             {[]string{"Origin", "http://other.arena.test", "Sec-Fetch-Site", "same-site"}, 403},
		"another port":          {[]string{"Origin", publicURL + ":81"}, 403},
		"another scheme":        {[]string{"Origin", "https://arena.test"}, 403},
		"a sandbox":             {[]string{"Origin", "null"}, 403},
		"typed in":              {[]string{"Sec-Fetch-Site", "none"}, 403},
		"two that do not agree": {[]string{"Origin", "https://evil.example", "Sec-Fetch-Site", "same-origin"}, 403},
	} {
		if a := d.browse("POST", "/api/board/messages", tc.header...); a.StatusCode != tc.code || tc.code == 403 && !strings.Contains(a.body, protocol.ErrCrossOrigin.Code) {
			t.Errorf("%s: %s %s", name, a.Status, a.body)
		}
	}
	if out := d.browse("POST", "/auth/logout", "Origin", "https://evil.example"); out.StatusCode != 403 || d.cookies["arena_session"] == "" {
		t.Errorf("another site signs people out: %s", out.Status)
	}
	// A token in a header is no cookie: no page can send it by itself.
	if a := d.browse("POST", "/api/board/messages", "Authorization", "Bearer "+d.tokens[author], "Origin", "https://evil.example"); a.StatusCode != 415 {
		t.Errorf("with a token: %s", a.Status)
	}
}

// TestSignInsThatFail: each ends on a page that says why, without a session.
func TestSignInsThatFail(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(d *door, address string) string // changes the way back
		code  int
		say   string
	}{
		"denied": {func(d *door, a string) string {
			d.hub.App.Denies = true
			return d.callback(d.browse("GET", "/auth/login"))
		}, 403, "did not let the arena know"},
		"another state":   {func(_ *door, a string) string { return strings.Replace(a, "state=", "state=X", 1) }, 403, "Start again"},
		"no state":        {func(*door, string) string { return "/auth/callback?code=x" }, 403, "Start again"},
		"another browser": {func(d *door, a string) string { clear(d.cookies); return a }, 403, "another browser"},
		"a planted login": {func(d *door, a string) string { d.cookies["arena_login"] = "PLANTED"; return a }, 403, "another browser"},
		"twice": {func(d *door, a string) string {
			login := d.cookies["arena_login"]
			d.browse("GET", a)
			delete(d.cookies, "arena_session")
			d.cookies["arena_login"] = login
			return a
		}, 403, "was used before"},
		"too late":             {func(d *door, a string) string { d.now = d.now.Add(11 * time.Minute); return a }, 403, "took too long"},
		"a code of another":    {func(_ *door, a string) string { return strings.Replace(a, "code=", "code=X", 1) }, 403, "not completed"},
		"another issuer":       {func(_ *door, a string) string { return strings.Replace(a, "iss=", "iss=https://evil.example/", 1) }, 403, "does not come from"},
		"an odd error":         {func(_ *door, a string) string { return strings.Replace(a, "code=", "error=%3Cscript%3E&x=", 1) }, 403, "not completed"},
		"the arena is unknown": {func(d *door, a string) string { d.hub.App.Secret = "changed"; return a }, 503, "identity.oauth"},
		"the hub is down":      {func(d *door, a string) string { d.hub.Down(true); return a }, 503, "cannot be reached"},
		"the hub answers a page": {func(d *door, a string) string {
			d.hub.Fail("POST /oauth/token", 0, hubtest.Page(502))
			return a
		}, 503, "cannot be reached"},
		"whoami is down": {func(d *door, a string) string {
			d.hub.Fail("GET /api/whoami-v2", 0, hubtest.Status(500))
			return a
		}, 503, "cannot be reached"},
		"an app signs in": {func(d *door, a string) string { d.hub.App.Person.Type = "app"; return a }, 403, "Use one of a person"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, publicURL)
			back := tc.spoil(d, d.callback(d.browse("GET", "/auth/login")))
			a := d.browse("GET", back)
			if a.StatusCode != tc.code || !strings.Contains(a.body, tc.say) || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") || strings.Contains(a.body, "<script") {
				t.Errorf("%s: %s", a.Status, a.body)
			}
			if d.cookies["arena_session"] != "" {
				t.Error("there is a session")
			}
			if log := d.log.String(); strings.Contains(log, "code-") || strings.Contains(log, "CANARY") || strings.Contains(log, "s3cret") {
				t.Errorf("the log holds a code, a token or the application's secret:\n%s", log)
			}
		})
	}
}

// TestSignInInsideAFrame: there a new tab is offered, because the cookies of a
// frame in another site are not kept.
func TestSignInInsideAFrame(t *testing.T) {
	t.Parallel()
	d := newDoor(t, publicURL)
	a := d.browse("GET", "/auth/login?next=/arena%22%3E", "Sec-Fetch-Dest", "iframe")
	if a.StatusCode != 200 || !strings.Contains(a.body, `href="/auth/login?next=%2Farena%22%3E" target="_blank" rel="noopener"`) || len(d.cookies) != 0 {
		t.Errorf("%s %v\n%s", a.Status, d.cookies, a.body)
	}
	if h := a.Header; h.Get("X-Frame-Options") != "" || strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors") {
		t.Errorf("a frame would not show it: %v", h)
	}
	// The pages of a sign-in that failed are in no frame.
	if h := d.browse("GET", "/auth/callback").Header; h.Get("X-Frame-Options") != "DENY" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("%v", h)
	}
}

// TestPagesInAFrame: pages may be framed by the sites that the configuration names and
// by nobody else, and in a frame nobody is signed in and nothing can be changed, even
// where the browser sends the session along.
func TestPagesInAFrame(t *testing.T) {
	t.Parallel()
	const hub, other = "https://huggingface.co", "https://www.example.org:8443"
	for _, sites := range [][]string{nil, {hub}, {hub, other}} {
		d := newDoor(t, publicURL, func(o *options) { o.server.FrameAncestors = sites })
		ancestors, header := "frame-ancestors 'none'", "DENY"
		if len(sites) > 0 {
			ancestors, header = "frame-ancestors "+strings.Join(sites, " "), ""
		}
		for range 2 { // the second may be answered from what was kept
			for _, path := range []string{"/", "/arena", "/arena/runs/none", "/nowhere"} {
				h := d.browse("GET", path, "Accept", "text/html").Header
				if !strings.HasSuffix(h.Get("Content-Security-Policy"), "; "+ancestors) || h.Get("X-Frame-Options") != header || strings.Contains(strings.Join(h.Values("Vary"), ","), "Sec-Fetch-Dest") != (len(sites) > 0) {
					t.Errorf("%q, %s: %v", sites, path, h)
				}
			}
			for _, path := range []string{"/api/challenges", "/AGENTS.md", "/openapi.json"} { // nothing to show
				if h := d.browse("GET", path).Header; !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("X-Frame-Options") != "DENY" {
					t.Errorf("%q, %s: %v", sites, path, h)
				}
			}
		}
		if h := d.browse("GET", "/auth/login", "Sec-Fetch-Dest", "iframe").Header; len(sites) > 0 && (!strings.HasSuffix(h.Get("Content-Security-Policy"), "; "+ancestors) || h.Get("X-Frame-Options") != "") {
			t.Errorf("%q, signing in: %v", sites, h)
		}

		d.signIn("/")
		if a := d.browse("GET", "/", "Accept", "text/html"); !strings.Contains(a.body, "Signed in as") || !strings.Contains(a.body, "<form") {
			t.Fatalf("in a tab nobody is signed in: %s", a.body)
		}
		for _, dest := range []string{"iframe", "frame", "embed", "object"} {
			if a := d.browse("GET", "/", "Accept", "text/html", "Sec-Fetch-Dest", dest); a.StatusCode != 200 || strings.Contains(a.body, "Signed in as") || strings.Contains(a.body, "<form") || !strings.Contains(a.body, `href="/auth/login?next=/"`) {
				t.Errorf("in an %s: %s\n%s", dest, a.Status, a.body)
			}
			for _, path := range []string{"/board", "/auth/logout", "/api/board/messages"} {
				a := d.browse("POST", path, "Origin", publicURL, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", dest)
				if a.StatusCode != 403 || !strings.Contains(a.body, protocol.ErrCrossOrigin.Code) || a.Header.Get("Set-Cookie") != "" {
					t.Errorf("POST %s in an %s: %s, sets %q", path, dest, a.Status, a.Header.Get("Set-Cookie"))
				}
			}
		}
		// Even a page that has no session would take one away with the answer.
		delete(d.cookies, "arena_session")
		if a := d.browse("POST", "/auth/logout", "Origin", publicURL, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "iframe"); a.StatusCode != 403 || a.Header.Get("Set-Cookie") != "" {
			t.Errorf("signing out in a frame: %s, sets %q", a.Status, a.Header.Get("Set-Cookie"))
		}
	}
}

// TestNextStaysHere: nobody is sent to another site after signing in.
func TestNextStaysHere(t *testing.T) {
	t.Parallel()
	d := newDoor(t, publicURL)
	for next, want := range map[string]string{
		"/arena/runs/x?y=1#z": "/arena/runs/x?y=1#z", "": "/", "https://evil.example/": "/", "//evil.example/": "/", `/\evil.example`: "/", "/\t/evil.example": "/",
		"javascript:alert(1)": "/", "arena": "/", "/%2Fevil.example": "/", "/auth/login": "/", "/" + strings.Repeat("x", 600): "/",
	} {
		if in := d.signIn(next); in.Header.Get("Location") != want {
			t.Errorf("%q leads to %q, not %q", next, in.Header.Get("Location"), want)
		}
	}
}

// TestSignInWithoutRegistration: the arena's own document does in the place of a
// registration at the hub.
func TestSignInWithoutRegistration(t *testing.T) {
	t.Parallel()
	resp, err := http.Get(newSite(t).URL + "/.well-known/oauth-cimd")
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an arena that nobody signs in to has an application: %s", resp.Status)
	}
	d := newDoor(t, publicURL)
	id := d.URL + "/.well-known/oauth-cimd"
	d.hub.App.ID, d.hub.App.Secret, d.hub.App.Redirect = id, "", d.URL+"/auth/callback"
	transport := outbound.NewTransport(4)
	t.Cleanup(transport.CloseIdleConnections)
	d.server.BaseURL = d.URL
	d.server.SignIn = hfhub.NewSignIn(hfhub.Options{URL: d.hub.URL, Transport: transport, UserAgent: "arena/test", Now: time.Now}, id, "", d.hub.App.Redirect)
	if in := d.signIn("/"); in.StatusCode != http.StatusSeeOther || d.cookies["arena_session"] == "" {
		t.Errorf("%s %s", in.Status, in.body)
	}
}

// TestSignInOnHTTPS: cookies are secure there, and named so that no other host can
// set them; with plain http in front of a test they are not sent back.
func TestSignInOnHTTPS(t *testing.T) {
	t.Parallel()
	d := newDoor(t, "https://arena.test")
	d.signIn("/")
	if d.cookies["__Host-arena_session"] == "" {
		t.Errorf("%v", d.cookies)
	}
	if who := d.browse("GET", "/api/whoami"); who.StatusCode != 200 {
		t.Errorf("%s", who.Status)
	}
}

// TestTokensOfTheHub: a token of the hub signs in; a refused one and an outage do
// not, and editors are told apart.
func TestTokensOfTheHub(t *testing.T) {
	t.Parallel()
	d := newDoor(t, publicURL)
	tokens := map[string]string{"editor": "hf_editorCANARYeditorCANARYeditorCANARY", "reader": "hf_readerCANARYreaderCANARYreaderCANARY", "unknown": "hf_unknownCANARYunknownCANARYunknown"}
	d.hub.Issue(tokens["editor"], hubtest.Token{Account: hubtest.Account{Name: "olivia", Orgs: []hubtest.Org{{Name: "benchflow", Role: "admin"}}}})
	d.hub.Issue(tokens["reader"], hubtest.Token{Account: hubtest.Account{Name: "rudi", Orgs: []hubtest.Org{{Name: "benchflow", Role: "read"}}}})
	logPath := runsPath + "/run-none/log"
	ask := func(who, path string, code int, say string) {
		t.Helper()
		if a := d.browse("GET", path, "Authorization", "Bearer "+tokens[who]); a.StatusCode != code || !strings.Contains(a.body, say) {
			t.Errorf("%s %s: %s %s; want %d %q", who, path, a.Status, a.body, code, say)
		}
	}
	ask("editor", "/api/whoami", 200, `"editor":true`)
	ask("editor", logPath, 404, "no-run")
	ask("reader", "/api/whoami", 200, `"editor":false`)
	ask("reader", logPath, 403, "Your role in benchflow is read; write or admin is needed.")
	ask("unknown", "/api/whoami", 401, "expired, was revoked or is mistyped")
	if n := d.hub.Calls("GET /api/whoami-v2"); n != 3 {
		t.Errorf("the hub was asked %d times about three tokens", n)
	}
	d.hub.Down(true)
	ask("reader", "/api/whoami", 200, "rudi")
	tokens["new"] = "hf_newCANARYnewCANARYnewCANARYnewCANARY"
	a := d.browse("GET", "/api/whoami", "Authorization", "Bearer "+tokens["new"])
	if a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("while the hub is down: %s %s", a.Status, a.body)
	}
	if a := d.browse("GET", "/api/whoami", "Authorization", "Bearer "+d.site.tokens[author]); a.StatusCode != 200 {
		t.Errorf("a local token needs no hub: %s", a.Status)
	}
	for who, token := range tokens {
		if strings.Contains(d.log.String(), token) {
			t.Errorf("the log holds the token of %s", who)
		}
	}
}

// TestAFloodOfTokensStopsHere: tokens that come all at once, and those that come while
// the hub refuses to say, are as many questions to it as an address may ask and no
// more. Whoever the hub has vouched for goes on working meanwhile.
func TestAFloodOfTokensStopsHere(t *testing.T) {
	t.Parallel()
	d := newDoor(t, publicURL, func(o *options) { o.server.Rates.Failed = 100 })
	const known = "hf_knownCANARYknownCANARYknownCANARYknown"
	d.hub.Issue(known, hubtest.Token{Account: hubtest.Account{Name: "ada"}})
	ask := func(token string) int {
		r, err := http.NewRequestWithContext(t.Context(), "GET", d.URL+"/api/whoami", nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := d.Client().Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if code := ask(known); code != 200 {
		t.Fatal(code)
	}
	// The hub answers none before all that will come are there.
	answer := make(chan struct{})
	d.hub.Fail("GET /api/whoami-v2", 0, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-answer:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	var all sync.WaitGroup
	var refused atomic.Int64
	for i := range 30 {
		all.Go(func() {
			if ask(fmt.Sprintf("hf_junk%d", i)) == http.StatusTooManyRequests {
				if refused.Add(1) == 21 {
					close(answer)
				}
			}
		})
	}
	all.Wait()
	if n := d.hub.Calls("GET /api/whoami-v2"); n != 10 || refused.Load() != 21 {
		t.Errorf("the hub was asked %d times, %d tokens were refused without; the first cost one of ten", n, refused.Load())
	}
	d.hub.Heal()
	d.now = d.now.Add(time.Minute)
	d.hub.Fail("GET /api/whoami-v2", 0, hubtest.Status(429, "Retry-After", "55"))
	codes := map[int]int{}
	for i := range 30 {
		codes[ask(fmt.Sprintf("hf_more%d", i))]++
	}
	if n := d.hub.Calls("GET /api/whoami-v2"); n != 20 || codes[503] != 10 || codes[429] != 20 {
		t.Errorf("while it refuses to say, the hub was asked up to %d times: %v", n, codes)
	}
	if code := ask(known); code != 200 {
		t.Errorf("who is known is kept out by strangers: %d", code)
	}
}

// TestAFloodOfCodesStopsHere: the hub is asked about no more codes from one address than
// about tokens, and a sign-in that has to wait is not lost.
func TestAFloodOfCodesStopsHere(t *testing.T) {
	t.Parallel()
	d := newDoor(t, publicURL, func(o *options) { o.server.Rates.Failed = 30 })
	for range 3 {
		back := d.callback(d.browse("GET", "/auth/login"))
		if a := d.browse("GET", strings.Replace(back, "code=", "code=X", 1)); a.StatusCode != 403 {
			t.Fatalf("%s %s", a.Status, a.body)
		}
	}
	back := d.callback(d.browse("GET", "/auth/login"))
	if a := d.browse("GET", back); a.StatusCode != 429 || a.Header.Get("Retry-After") == "" || d.hub.Calls("POST /oauth/token") != 3 {
		t.Errorf("%s, the hub was asked about %d codes", a.Status, d.hub.Calls("POST /oauth/token"))
	}
	d.now = d.now.Add(time.Minute)
	if a := d.browse("GET", back); a.StatusCode != http.StatusSeeOther {
		t.Errorf("afterwards: %s %s", a.Status, a.body)
	}
}

// TestOneAuthorization: of two tokens none is taken, whichever a proxy may have judged.
func TestOneAuthorization(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/whoami", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header["Authorization"] = []string{"Bearer " + s.tokens[author], "Bearer " + s.tokens[editor]}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("one of two tokens signs in: %s", resp.Status)
	}
}

// TestSignInUnderAttack: what another site, another browser or a planted cookie can
// do to somebody who signs in, is signed in, or signs out.
func TestSignInUnderAttack(t *testing.T) {
	t.Parallel()
	whoami := func(d *door, want int) {
		t.Helper()
		if a := d.browse("GET", "/api/whoami"); a.StatusCode != want {
			t.Errorf("whoami: %s %s, not %d", a.Status, a.body, want)
		}
	}
	t.Run("a planted session does not become the victim's", func(t *testing.T) {
		d := newDoor(t, publicURL)
		planted := strings.Repeat("A", 52)
		d.cookies["arena_session"] = planted
		d.signIn("/")
		if d.cookies["arena_session"] == planted {
			t.Error("the secret is the planted one")
		}
		whoami(d, 200)
		d.cookies["arena_session"] = planted
		whoami(d, 401)
	})
	t.Run("signing in again ends the session before", func(t *testing.T) {
		d := newDoor(t, publicURL)
		d.signIn("/")
		before := d.cookies["arena_session"]
		d.hub.App.Person.Name = "bea"
		d.signIn("/")
		whoami(d, 200)
		d.cookies["arena_session"] = before
		whoami(d, 401)
	})
	t.Run("another site cannot take the cookie away", func(t *testing.T) {
		d := newDoor(t, publicURL)
		d.signIn("/")
		kept := d.cookies["arena_session"]
		delete(d.cookies, "arena_session") // SameSite=Lax: not sent with a form of another site
		for _, header := range [][]string{nil, {"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}} {
			if a := d.browse("POST", "/auth/logout", header...); a.StatusCode != 403 || a.Header.Get("Set-Cookie") != "" {
				t.Errorf("%q: %s, sets %q", header, a.Status, a.Header.Get("Set-Cookie"))
			}
		}
		if a := d.browse("GET", "/auth/logout"); a.StatusCode != 405 {
			t.Errorf("a link signs people out: %s", a.Status)
		}
		d.cookies["arena_session"] = kept
		whoami(d, 200)
	})
	t.Run("an answer from elsewhere does not disturb a sign-in", func(t *testing.T) {
		d := newDoor(t, publicURL)
		back := d.callback(d.browse("GET", "/auth/login"))
		for _, wrong := range []string{"/auth/callback", "/auth/callback?state=x&code=y", "/auth/callback?error=access_denied&state="} {
			if a := d.browse("GET", wrong); a.StatusCode != 403 || a.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %s, sets %q", wrong, a.Status, a.Header.Get("Set-Cookie"))
			}
		}
		if a := d.browse("GET", back); a.StatusCode != http.StatusSeeOther {
			t.Errorf("the sign-in is lost: %s", a.Status)
		}
		whoami(d, 200)
	})
	t.Run("another browser cannot use up a state", func(t *testing.T) {
		d := newDoor(t, publicURL)
		back := d.callback(d.browse("GET", "/auth/login"))
		mine := d.cookies
		d.cookies = map[string]string{}
		if a := d.browse("GET", back); a.StatusCode != 403 {
			t.Errorf("%s", a.Status)
		}
		d.cookies = mine
		if a := d.browse("GET", back); a.StatusCode != http.StatusSeeOther {
			t.Errorf("%s", a.Status)
		}
	})
	t.Run("a code of the attacker's does not fit the victim's sign-in", func(t *testing.T) {
		d := newDoor(t, publicURL)
		theirs, err := url.Parse(d.callback(d.browse("GET", "/auth/login")))
		if err != nil {
			t.Fatal(err)
		}
		d.cookies = map[string]string{}
		mine, err := url.Parse(d.callback(d.browse("GET", "/auth/login")))
		if err != nil {
			t.Fatal(err)
		}
		q := mine.Query()
		q.Set("code", theirs.Query().Get("code"))
		if a := d.browse("GET", "/auth/callback?"+q.Encode()); a.StatusCode != 403 || d.cookies["arena_session"] != "" {
			t.Errorf("%s, cookies %v", a.Status, d.cookies)
		}
		if n := d.hub.Calls("GET /api/whoami-v2"); n != 0 {
			t.Errorf("%d tokens came of it", n)
		}
	})
	t.Run("the Host header decides nothing", func(t *testing.T) {
		d := newDoor(t, publicURL)
		d.signIn("/")
		a := d.browse("POST", "/api/board/messages", "Host", "evil.example", "X-Forwarded-Host", "evil.example", "Origin", "http://evil.example")
		if a.StatusCode != 403 {
			t.Errorf("a page of the host that the request names is let in: %s", a.Status)
		}
		login := d.browse("GET", "/auth/login", "Host", "evil.example", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "https")
		to, err := url.Parse(login.Header.Get("Location"))
		if err != nil || to.Query().Get("redirect_uri") != publicURL+"/auth/callback" {
			t.Errorf("the hub is told to come back to %q", login.Header.Get("Location"))
		}
	})
	t.Run("forms cannot speak JSON", func(t *testing.T) {
		d := newDoor(t, publicURL)
		d.signIn("/")
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
			if a := d.browse("POST", "/api/board/messages", "Origin", publicURL, "Content-Type", kind); a.StatusCode != 415 {
				t.Errorf("%q: %s", kind, a.Status)
			}
		}
	})
	t.Run("many sign-ins that nobody ends keep nobody out", func(t *testing.T) {
		d := newDoor(t, publicURL)
		back := d.callback(d.browse("GET", "/auth/login"))
		mine := d.cookies
		for range 1500 {
			d.cookies = map[string]string{}
			if a := d.browse("GET", "/auth/login"); a.StatusCode == http.StatusTooManyRequests {
				break
			}
		}
		d.cookies = mine
		d.now = d.now.Add(time.Minute)
		if a := d.browse("GET", back); a.StatusCode != http.StatusSeeOther {
			t.Errorf("%s %s", a.Status, a.body)
		}
	})
}
