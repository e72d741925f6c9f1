package hfhub

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/outbound"
)

// SignIn is the hub's OAuth for the browser: the authorization code flow with
// PKCE (A10 to A13).
type SignIn struct {
	config oauth2.Config
	client *http.Client
	issuer string
}

// NewSignIn makes the client of an application that is registered at the hub. An
// empty secret is that of a public application; redirect is the arena's own
// address to return to, exactly as registered.
func NewSignIn(o Options, clientID, secret, redirect string) *SignIn {
	base := strings.TrimSuffix(o.URL, "/")
	style := oauth2.AuthStyleInHeader
	if secret == "" {
		style = oauth2.AuthStyleInParams
	}
	transport := o.Transport
	if transport == nil {
		transport = outbound.NewTransport(4)
	}
	return &SignIn{
		issuer: base,
		config: oauth2.Config{
			ClientID: clientID, ClientSecret: secret, RedirectURL: redirect,
			// Without read-memberships the hub shows no organizations (A12).
			Scopes:   []string{"openid", "profile", "read-memberships"},
			Endpoint: oauth2.Endpoint{AuthURL: base + "/oauth/authorize", TokenURL: base + "/oauth/token", AuthStyle: style},
		},
		client: &http.Client{
			Transport: named{transport, o.UserAgent}, Timeout: timeout(o, 15*time.Second),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// named sets the User-Agent, which the library does not.
type named struct {
	http.RoundTripper
	agent string
}

// RoundTrip implements http.RoundTripper.
func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", n.agent)
	return n.RoundTripper.RoundTrip(r)
}

// URL is where the browser goes to sign in.
func (s *SignIn) URL(state, verifier string) string {
	return s.config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier))
}

// Exchange turns the query that the browser came back with into an access token.
// Its errors are the protocol's and hold neither the code nor a token.
func (s *SignIn) Exchange(ctx context.Context, answer url.Values, verifier string) (string, error) {
	if iss := answer.Get("iss"); iss != "" && strings.TrimSuffix(iss, "/") != s.issuer {
		return "", protocol.ErrSignIn.Detailf("The answer to the sign-in does not come from the arena's hub. Start again.")
	}
	if code := answer.Get("error"); code == "access_denied" {
		return "", protocol.ErrSignIn.Detailf("You did not let the arena know who you are, so you are not signed in.")
	} else if code != "" {
		return "", protocol.ErrSignIn.Because(errors.New("the hub answered " + plainWord(code)))
	}
	if answer.Get("code") == "" {
		return "", protocol.ErrSignIn
	}
	token, err := s.config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, s.client), answer.Get("code"), oauth2.VerifierOption(verifier))
	if err == nil {
		return token.AccessToken, nil
	}
	// The library's errors hold the answer's body, and with it perhaps a token.
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case !ok || refused.Response.StatusCode >= 500 || refused.Response.StatusCode == http.StatusTooManyRequests:
		return "", protocol.ErrUnavailable.Detailf("The hub cannot be reached to sign you in. Try again in a minute.").After(without)
	case refused.ErrorCode == "invalid_client" || refused.Response.StatusCode == http.StatusUnauthorized:
		return "", protocol.ErrUnavailable.Detailf("The hub does not know this arena, so nobody can sign in. An organizer has to check identity.oauth in arena.toml.").After(5 * time.Minute)
	default:
		return "", protocol.ErrSignIn.Because(errors.New("the hub answered " + plainWord(refused.ErrorCode)))
	}
}

// plainWord is a code of OAuth as it may be logged.
func plainWord(code string) string {
	if code == "" || len(code) > 40 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "with an unknown code"
	}
	return code
}
