package server

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// fail turns a failure into its answer. It is the only place that does.
func (c *call) fail(err error) {
	e := protocol.AsError(err)
	if c.route.Name == "launch" && e.Launched == "" && e.Kind != protocol.KindInternal { // it did not get as far as a launch
		e = e.Launch(protocol.LaunchedNo)
		err = e
	}
	if e.Kind == protocol.KindInternal {
		c.server.Log.Error("request failed", "request_id", c.requestID, "route", c.route.Name, "error", err)
	} else if e.Err != nil {
		c.server.Log.Warn("request refused", "request_id", c.requestID, "route", c.route.Name, "code", e.Code, "error", e.Err)
	}
	h := c.w.Header()
	for _, name := range []string{"ETag", "Link", "Cache-Control"} {
		h.Del(name)
	}
	status := e.Kind.Status()
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	} else if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "5")
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="arena"`)
	}
	problem := c.problem(err)
	if c.prefersHTML() && c.isForPeople() {
		c.failPage(problem)
		return
	}
	raw, marshalErr := json.Marshal(problem)
	if marshalErr != nil {
		raw = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500,"code":"internal"}`)
	}
	h.Set("Content-Type", api.ProblemType)
	h.Set("Content-Length", strconv.Itoa(len(raw)+1))
	h.Set("Cache-Control", "no-store")
	c.bound()
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(raw, '\n'))
}

// isForPeople reports whether an address is one of the pages, or none that a
// program would ask for.
func (c *call) isForPeople() bool {
	if c.route.Name != "unmatched" {
		return c.route.Content == api.ContentHTML
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(c.r.URL.Path, "/"), "/")
	return !slices.Contains([]string{"api", "cli", "relay", "mcp", "assets"}, first)
}

// problem maps a failure to the wire, with the names that the address holds in
// the command that helps.
func (c *call) problem(err error) api.Problem {
	p := api.ProblemFrom(err, c.requestID)
	challenge, environment, run := "", c.param("env"), c.param("run")
	switch parts := strings.Split(strings.Trim(c.r.URL.Path, "/"), "/"); {
	case len(parts) > 2 && parts[1] == "challenges":
		challenge = parts[2]
	case len(parts) > 2 && parts[1] == "environments":
		environment = parts[2]
	}
	environment = cmp.Or(environment, c.query("environment_id"), c.environment)
	p.Command = protocol.Remedy{Command: p.Command}.Fill(plainName(challenge), plainName(environment), plainName(run)).Command
	return p
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$`)

// plainName is a name that needs no quoting in a shell, and empty for any other.
func plainName(s string) string {
	if !namePattern.MatchString(s) || s == reservedRun {
		return ""
	}
	return s
}

// secretPattern recognises tokens of this arena, the hub and GitHub by their form.
var secretPattern = regexp.MustCompile(`\b(arena_[A-Za-z0-9_-]{32,}|hf_(?:oauth_+(?:refresh_+)?|jwt_+)?[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`)

// secretParams are the query parameters that people put tokens into.
var secretParams = regexp.MustCompile(`(?i)^(access_?token|token|api_?key|authorization|bearer)$`)

// refuseSecrets returns ErrTokenPlace when a text holds something that has the
// form of a token. What was found is not repeated.
func refuseSecrets(text string) error {
	if secretPattern.MatchString(text) {
		return protocol.ErrTokenPlace
	}
	return nil
}

// refuseSecretURL returns ErrTokenPlace when a URL carries a token. The query is
// looked at as it came too: parsing drops what it cannot read.
func refuseSecretURL(r *http.Request) error {
	if err := refuseSecrets(r.URL.Path + " " + r.URL.RawQuery); err != nil {
		return err
	}
	for name, values := range r.URL.Query() {
		if secretParams.MatchString(name) {
			return protocol.ErrTokenPlace
		}
		for _, v := range append(values, name) {
			if err := refuseSecrets(v); err != nil {
				return err
			}
		}
	}
	return nil
}
