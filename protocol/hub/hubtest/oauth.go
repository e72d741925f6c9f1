package hubtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// App is an application that is registered at the hub, and the person who sits in
// front of the browser.
type App struct {
	ID       string
	Secret   string // empty: a public application
	Redirect string // the registered address; must be matched exactly
	// Person is signed in at the hub.
	Person Account
	// Denies makes the person refuse to sign in.
	Denies bool
	// Approves says which organizations the person lets the application see; nil: all.
	Approves []string
}

// grant is what a code stands for until it is used.
type grant struct {
	challenge string
	redirect  string
	scope     []string
	issued    time.Time
}

// codeLife is how long a code can be used.
const codeLife = time.Minute

// oauth adds the endpoints of A10 to A16.
func (h *HuggingFace) oauth() {
	h.Handle("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{
			"issuer": h.URL, "authorization_endpoint": h.URL + "/oauth/authorize", "token_endpoint": h.URL + "/oauth/token", "userinfo_endpoint": h.URL + "/oauth/userinfo",
		})
	})
	h.Handle("GET /oauth/authorize", h.authorize)
	h.Handle("POST /oauth/token", h.exchange)
	h.Handle("GET /oauth/userinfo", h.userinfo)
	h.Handle("POST /oauth/device", h.device)
}

// device is a sign-in without a browser of its own, until the person has typed the
// code (A16).
type device struct {
	user     string
	scope    []string
	until    time.Time
	approved bool
}

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// device begins one.
func (h *HuggingFace) device(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.PostForm.Get("client_id") != h.App.ID {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_client"})
		return
	}
	h.mu.Lock()
	h.n++
	code, user := fmt.Sprintf("device-%d", h.n), fmt.Sprintf("ABCD-%04d", h.n)
	h.devices[code] = device{user: user, scope: strings.Fields(r.PostForm.Get("scope")), until: h.Now().Add(15 * time.Minute)}
	h.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"device_code": code, "user_code": user, "verification_uri": h.URL + "/oauth/device", "expires_in": 900})
}

// Approve has the person type the code that a device shows.
func (h *HuggingFace) Approve(user string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for code, d := range h.devices {
		if d.user == user {
			d.approved = true
			h.devices[code] = d
		}
	}
}

// poll answers a device that asks whether the person has typed its code.
func (h *HuggingFace) poll(w http.ResponseWriter, code string) {
	h.mu.Lock()
	d, ok := h.devices[code]
	if ok && (d.approved || !h.Now().Before(d.until)) {
		delete(h.devices, code)
	}
	h.mu.Unlock()
	refuse := ""
	switch {
	case !ok:
		refuse = "invalid_grant"
	case !h.Now().Before(d.until):
		refuse = "expired_token"
	case h.App.Denies:
		refuse = "access_denied"
	case !d.approved:
		refuse = "authorization_pending"
	}
	if refuse != "" {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": refuse})
		return
	}
	h.grantToken(w, d.scope, code)
}

// registered finds the application of a client id: the one that was registered, or
// the one whose own document the id is the address of (A17).
func (h *HuggingFace) registered(r *http.Request, id, redirect string) bool {
	if id == h.App.ID && !strings.HasPrefix(id, "http") {
		return redirect == h.App.Redirect
	}
	if id != h.App.ID {
		return false
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, id, nil)
	if err != nil {
		return false
	}
	req.Header.Set("User-Agent", "hub/1")
	resp, err := h.Client().Transport.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var app struct {
		ClientID  string   `json:"client_id"`
		Redirects []string `json:"redirect_uris"`
	}
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&app) == nil && app.ClientID == id && slices.Contains(app.Redirects, redirect)
}

// authorize is the consent page, answered at once (A11).
func (h *HuggingFace) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || !h.registered(r, q.Get("client_id"), q.Get("redirect_uri")) {
		http.Error(w, "invalid client or redirect_uri", http.StatusBadRequest)
		return
	}
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("state") == "" {
		h.T.Error("a sign-in without PKCE or state")
	}
	back, _ := url.Parse(q.Get("redirect_uri"))
	answer := url.Values{"state": {q.Get("state")}, "iss": {h.URL}}
	if h.App.Denies {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "The user denied the request")
	} else {
		h.mu.Lock()
		h.n++
		code := fmt.Sprintf("code-%d", h.n)
		h.codes[code] = grant{q.Get("code_challenge"), q.Get("redirect_uri"), strings.Fields(q.Get("scope")), h.Now()}
		h.mu.Unlock()
		answer.Set("code", code)
	}
	back.RawQuery = answer.Encode()
	w.Header().Set("Location", back.String())
	w.WriteHeader(http.StatusSeeOther)
}

// exchange turns a code into a token (A13): once, in time, with the verifier.
func (h *HuggingFace) exchange(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code, why string) {
		writeJSON(w, status, map[string]string{"error": code, "error_description": why})
	}
	if r.URL.RawQuery != "" {
		h.T.Error("the exchange of a code carries a query")
	}
	if err := r.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "invalid_request", "form")
		return
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id = r.PostForm.Get("client_id")
	}
	if id != h.App.ID || secret != h.App.Secret || r.PostForm.Get("client_secret") != "" {
		refuse(http.StatusUnauthorized, "invalid_client", "Unknown client")
		return
	}
	if r.PostForm.Get("grant_type") == deviceGrant {
		h.poll(w, r.PostForm.Get("device_code"))
		return
	}
	code := r.PostForm.Get("code")
	h.mu.Lock()
	g, ok := h.codes[code]
	delete(h.codes, code)
	h.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	switch {
	case r.PostForm.Get("grant_type") != "authorization_code":
		refuse(http.StatusBadRequest, "unsupported_grant_type", "")
	case !ok, h.Now().Sub(g.issued) > codeLife:
		refuse(http.StatusBadRequest, "invalid_grant", "Invalid code")
	case r.PostForm.Get("redirect_uri") != g.redirect:
		refuse(http.StatusBadRequest, "invalid_grant", "redirect_uri")
	case base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge:
		refuse(http.StatusBadRequest, "invalid_grant", "code_verifier")
	default:
		h.grantToken(w, g.scope, code)
	}
}

// grantToken answers with a new token of the person.
func (h *HuggingFace) grantToken(w http.ResponseWriter, scope []string, code string) {
	h.mu.Lock()
	h.n++
	// Its form is that of a real one, so that whoever looks for tokens finds it.
	token := fmt.Sprintf("hf_oauth_%040dCANARY", h.n)
	t := &Token{Account: h.App.Person, Kind: "oauth", Shows: h.App.Approves, NoRoles: !slices.Contains(scope, "read-memberships")}
	if t.NoRoles {
		t.Shows = []string{}
	}
	h.tokens[token] = t
	h.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "bearer", "expires_in": 28800, "scope": strings.Join(scope, " "), "refresh_token": "hf_oauth__refresh_" + code})
}

// userinfo answers A14: here name is what anybody likes, and the slug is
// preferred_username.
func (h *HuggingFace) userinfo(w http.ResponseWriter, r *http.Request) {
	t, ok := h.Bearer(w, r)
	if !ok {
		return
	}
	if t == nil || t.Kind != "oauth" {
		hubError(w, http.StatusUnauthorized, "", "Only OAuth tokens are accepted")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"sub": accountID(t.Account.Name, t.Account.ID), "name": strings.ToUpper(t.Account.Name), "preferred_username": t.Account.Name, "isPro": false,
		"orgs": t.orgs(func(o Org) map[string]any {
			return map[string]any{"sub": accountID(o.Name, o.ID), "name": cmp.Or(o.Fullname, o.Name), "preferred_username": o.Name, "picture": ""}
		}),
	})
}
