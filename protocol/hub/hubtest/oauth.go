package hubtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
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

// oauth adds the endpoints of A10 to A15.
func (h *HuggingFace) oauth() {
	h.Handle("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{
			"issuer": h.URL, "authorization_endpoint": h.URL + "/oauth/authorize", "token_endpoint": h.URL + "/oauth/token", "userinfo_endpoint": h.URL + "/oauth/userinfo",
		})
	})
	h.Handle("GET /oauth/authorize", h.authorize)
	h.Handle("POST /oauth/token", h.exchange)
	h.Handle("GET /oauth/userinfo", h.userinfo)
}

// authorize is the consent page, answered at once (A11).
func (h *HuggingFace) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != h.App.ID || q.Get("redirect_uri") != h.App.Redirect || q.Get("response_type") != "code" {
		http.Error(w, "invalid client or redirect_uri", http.StatusBadRequest)
		return
	}
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("state") == "" {
		h.T.Error("a sign-in without PKCE or state")
	}
	back, _ := url.Parse(h.App.Redirect)
	answer := url.Values{"state": {q.Get("state")}, "iss": {h.URL}}
	if h.App.Denies {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "The user denied the request")
	} else {
		h.mu.Lock()
		h.n++
		code := fmt.Sprintf("code-%d", h.n)
		h.codes[code] = grant{q.Get("code_challenge"), h.App.Redirect, strings.Fields(q.Get("scope")), h.Now()}
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
		h.mu.Lock()
		h.n++
		// Its form is that of a real one, so that whoever looks for tokens finds it.
		token := fmt.Sprintf("hf_oauth_%040dCANARY", h.n)
		t := &Token{Account: h.App.Person, Kind: "oauth", Shows: h.App.Approves, NoRoles: !slices.Contains(g.scope, "read-memberships")}
		if t.NoRoles {
			t.Shows = []string{}
		}
		h.tokens[token] = t
		h.mu.Unlock()
		writeJSON(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "bearer", "expires_in": 28800, "scope": strings.Join(g.scope, " "), "refresh_token": "hf_oauth__refresh_" + code})
	}
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
