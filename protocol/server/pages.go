package server

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/julienschmidt/httprouter"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/server/pages"
)

// contentPolicy lets a page load what this server serves and nothing else: no
// inline script and no inline style. Who may frame it is added to it.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"

// policy sets the policy of a page, with the sites that may frame it. The older header
// cannot name any, so it is there only when there are none.
func (c *call) policy(policy string) {
	h, sites := c.w.Header(), "'none'"
	if all := c.server.FrameAncestors; len(all) > 0 {
		sites = strings.Join(all, " ")
		h.Del("X-Frame-Options")
		h.Add("Vary", "Sec-Fetch-Dest") // by which a page knows that it is in a frame
	}
	h.Set("Content-Security-Policy", policy+"; frame-ancestors "+sites)
}

// framed reports whether a browser asks for something to show inside of a page.
func (c *call) framed() bool {
	switch c.r.Header.Get("Sec-Fetch-Dest") {
	case "iframe", "frame", "embed", "object":
		return true
	}
	return false
}

// memory is a response that is kept: what a page reads of the interface.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (m *memory) Header() http.Header         { return m.header }
func (m *memory) WriteHeader(status int)      { m.status = status }
func (m *memory) Write(b []byte) (int, error) { return m.body.Write(b) }

// read asks a route of this server's own interface as the page's reader. A page
// is made of such answers alone, so that it shows nothing that the interface
// would not tell the same caller.
func (c *call) read(name string, query url.Values, out any, params ...httprouter.Param) error {
	route, ok := c.server.routes[name]
	if !ok {
		return errors.New("a page reads the route " + name + ", which does not exist")
	}
	r, err := http.NewRequestWithContext(c.ctx(), route.Method, (&url.URL{Path: "/", RawQuery: query.Encode()}).String(), nil)
	if err != nil {
		return err
	}
	w := &memory{header: http.Header{}}
	sub := &call{server: c.server, w: w, r: r, params: params, route: route, who: c.who, requestID: c.requestID}
	if err := route.Role.Admits(c.who); err != nil {
		return err
	}
	if err := c.server.table[name](sub); err != nil {
		return err
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("read the answer of %s for a page: %w", name, err)
	}
	return nil
}

func named(name, value string) httprouter.Param { return httprouter.Param{Key: name, Value: value} }

// site is what every page of this call knows.
func (c *call) site(title, twin string) pages.Site {
	s := c.server
	return pages.Site{
		Name: siteName, BaseURL: s.BaseURL, Version: s.Version, Who: c.who.Name, Editor: c.who.Editor, SignIn: s.SignIn != nil, Session: s.SignIn != nil && c.who.SignedIn() && c.r.Header.Get("Authorization") == "",
		Path: c.r.URL.Path, Twin: twin, Title: title, Now: s.Service.Now(),
	}
}

// show answers a page in HTML.
func (c *call) show(status int, name string, view any) error {
	raw, err := c.server.pages.HTML(name, view)
	if err != nil {
		return err
	}
	c.policy(contentPolicy)
	return c.bytes(status, api.ContentHTML+"; charset=utf-8", raw)
}

// twin answers a page in Markdown.
func (c *call) twin(name string, view any) error {
	raw, err := c.server.pages.Text(name, view)
	if err != nil {
		return err
	}
	return c.bytes(http.StatusOK, api.ContentMarkdown+"; charset=utf-8", raw)
}

// prefersHTML reports whether the client is one that shows pages.
func (c *call) prefersHTML() bool { return strings.Contains(c.r.Header.Get("Accept"), api.ContentHTML) }

// failPage shows a problem as a page.
func (c *call) failPage(p api.Problem) {
	raw, err := c.server.pages.HTML("problem", pages.Problem{Site: c.site(p.Title, ""), Problem: p})
	if err != nil {
		c.server.Log.Error("a problem could not be shown", "request_id", c.requestID, "error", err)
		raw = []byte("The arena failed to answer.\n")
	}
	c.policy(contentPolicy)
	h := c.w.Header()
	h.Set("Content-Type", api.ContentHTML+"; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	c.bound()
	c.w.WriteHeader(p.Status)
	_, _ = c.w.Write(raw)
}

// pass takes the named query parameters along.
func (c *call) pass(names ...string) url.Values {
	q := url.Values{}
	for _, n := range names {
		if v := c.query(n); v != "" {
			q.Set(n, v)
		}
	}
	return q
}

// board is the view of the board's page.
func (c *call) board() (pages.Board, error) {
	v := pages.Board{Site: c.site("Board", "/index.md"), Request: "page-" + strings.ToLower(rand.Text()), Example: "AGENT_ID", Posted: c.query("posted") != "", ReplyTo: c.query("reply")}
	v.Path = "/"
	if err := c.read("listMessages", c.pass("limit", "cursor"), &v.Messages); err != nil {
		return v, err
	}
	if c.who.SignedIn() {
		var who api.Whoami
		if err := c.read("whoami", nil, &who); err != nil {
			return v, err
		}
		v.Agents = who.Agents
		v.Example = strings.ToLower(who.Name) + "-agent"
	}
	return v, nil
}

func (s *Server) pageBoard(c *call) error {
	v, err := c.board()
	if err != nil {
		return err
	}
	return c.show(http.StatusOK, "board", v)
}

func (s *Server) textBoard(c *call) error {
	v, err := c.board()
	if err != nil {
		return err
	}
	return c.twin("board.md", v)
}

// postForm posts what the form of the board's page sends. The page's request id
// makes a second press of the button harmless.
func (s *Server) postForm(c *call) error {
	if err := http.NewCrossOriginProtection().Check(c.r); err != nil {
		return protocol.ErrCrossOrigin.Because(err)
	}
	if base, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || base != api.ContentForm {
		return protocol.ErrInvalid.Detailf("This address reads the form of the board's page (%s). Programs post JSON to /api/board/messages.", api.ContentForm)
	}
	raw, err := c.whole(s.MaxJSON)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return protocol.ErrMalformed.Detailf("The form could not be read: %v.", err)
	}
	m := api.PostMessage{RequestID: form.Get("request_id"), AgentID: api.Optional(form.Get("agent_id")), Body: strings.ReplaceAll(form.Get("body"), "\r\n", "\n")}
	if ref := form.Get("refs"); ref != "" {
		m.Refs = []string{ref}
	}
	err = refuseSecrets(string(raw) + " " + m.Body)
	if err == nil {
		_, _, err = s.Service.PostMessage(c.ctx(), c.who, c.by(), m.Message(c.who.Name))
	}
	if err != nil {
		return c.refusedPost(m, err)
	}
	return c.seeOther("/?posted=1#messages")
}

// refusedPost shows the board again with what was wrong and what was written.
// What looks like a token is not repeated.
func (c *call) refusedPost(m api.PostMessage, err error) error {
	if !c.prefersHTML() {
		return err
	}
	v, failed := c.board()
	if failed != nil {
		return failed
	}
	p := c.problem(err)
	v.Problem = &p
	if len(m.Refs) == 1 {
		v.ReplyTo = m.Refs[0]
	}
	if !errors.Is(err, protocol.ErrTokenPlace) {
		v.Draft = m.Body
	}
	return c.show(p.Status, "board", v)
}

// arenaPage is the view of the competition's page.
func (c *call) arenaPage() (pages.Arena, error) {
	v := pages.Arena{Site: c.site("Arena", "/arena.md")}
	v.Path = "/arena"
	var challenges api.Challenges
	for name, out := range map[string]any{"appMeta": &v.Meta, "arenaBudget": &v.Budget, "listChallenges": &challenges} {
		if err := c.read(name, nil, out); err != nil {
			return v, err
		}
	}
	v.Challenges = challenges.Challenges
	for _, ch := range v.Challenges {
		if ch.Status == protocol.StatusPlanned {
			continue
		}
		var b api.Leaderboard
		if err := c.read("leaderboard", nil, &b, named("id", ch.ID)); err != nil {
			return v, err
		}
		v.Boards = append(v.Boards, b)
	}
	return v, c.read("appSubmissions", c.pass("challenge", "track", "author", "limit", "cursor"), &v.Rows)
}

func (s *Server) pageArena(c *call) error {
	v, err := c.arenaPage()
	if err != nil {
		return err
	}
	return c.show(http.StatusOK, "arena", v)
}

func (s *Server) textArena(c *call) error {
	v, err := c.arenaPage()
	if err != nil {
		return err
	}
	return c.twin("arena.md", v)
}

// pageSubmission shows one collection; an id that ends in .md asks for the twin.
func (s *Server) pageSubmission(c *call) error {
	id, markdown := strings.CutSuffix(c.param("env"), ".md")
	v := pages.Submission{}
	if err := c.read("appSubmission", nil, &v.Page, named("env", id)); err != nil {
		return err
	}
	v.Site = c.site(v.Page.Submission.Title, "/arena/submissions/"+url.PathEscape(id)+".md")
	if markdown {
		return c.twin("submission.md", v)
	}
	return c.show(http.StatusOK, "submission", v)
}

// pageRun shows one run; an id that ends in .md asks for the twin.
func (s *Server) pageRun(c *call) error {
	id, markdown := strings.CutSuffix(c.param("run"), ".md")
	v := pages.Run{}
	if err := c.read("appRun", nil, &v.Page, named("run", id)); err != nil {
		return err
	}
	v.Site = c.site("Run "+id, "/arena/runs/"+url.PathEscape(id)+".md")
	if markdown {
		return c.twin("run.md", v)
	}
	if c.who.MayAct(v.Page.Run.Author) {
		attempts := api.Attempts{Attempts: []artifacts.Attempt{}}
		err := c.read("listAttempts", nil, &attempts, named("id", v.Page.Run.ChallengeID), named("run", id))
		if err == nil {
			v.Attempts = &attempts
		} else if protocol.AsError(err).Kind == protocol.KindInternal {
			return err
		}
	}
	return c.show(http.StatusOK, "run", v)
}

// formulaPage is the view of what a score depends on.
func (c *call) formulaPage() (pages.Formula, error) {
	v := pages.Formula{Site: c.site("Formula", "/arena/formula.md")}
	if err := c.read("appMeta", nil, &v.Meta); err != nil {
		return v, err
	}
	return v, c.read("formula", url.Values{"limit": {"1"}}, &v.Formula)
}

func (s *Server) pageFormula(c *call) error {
	v, err := c.formulaPage()
	if err != nil {
		return err
	}
	return c.show(http.StatusOK, "formula", v)
}

func (s *Server) textFormula(c *call) error {
	v, err := c.formulaPage()
	if err != nil {
		return err
	}
	return c.twin("formula.md", v)
}

// feed answers the newest verified results as RSS 2.0.
func (s *Server) feed(c *call) error {
	var m api.RunMetrics
	var rows api.Submissions
	if err := c.read("runMetrics", nil, &m); err != nil {
		return err
	}
	if err := c.read("appSubmissions", url.Values{"limit": {"200"}}, &rows); err != nil {
		return err
	}
	titles := map[string]string{}
	for _, row := range rows.Submissions {
		titles[row.ID] = row.Title
	}
	v := pages.Feed{Site: c.site("Results", "")}
	for _, p := range slices.Backward(m.PassRates) {
		if p.Verification != protocol.Valid || len(v.Items) == feedItems {
			continue
		}
		title := titles[p.Collection]
		if title == "" {
			title = p.Collection
		}
		v.Items = append(v.Items, pages.FeedItem{
			Title: fmt.Sprintf("%+.1f ± %.1f pp for %s on %s", p.DeltaPP, p.StderrPP, title, p.Challenge),
			Link:  s.BaseURL + "/arena/runs/" + url.PathEscape(p.Run), At: p.At,
			Text: fmt.Sprintf("Held-out %.1f%% before and %.1f%% after training, accepted by an organizer.", 100*p.Baseline, 100*p.After),
		})
	}
	raw, err := s.pages.Text("results.rss", v)
	if err != nil {
		return err
	}
	return c.bytes(http.StatusOK, api.ContentFeed+"; charset=utf-8", raw)
}

// feedItems is how many results the feed holds.
const feedItems = 50

// asset answers what pages load. Its address changes with its content, so that
// it may be kept for ever.
func (s *Server) asset(c *call) error {
	a, ok := s.pages.Asset(c.param("name"))
	if !ok {
		return protocol.ErrNotFound
	}
	if c.query("v") == a.Version {
		c.w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		c.bound()
		c.w.Header().Set("Content-Type", a.Type)
		_, _ = c.w.Write(a.Content)
		return nil
	}
	return c.bytes(http.StatusOK, a.Type, a.Content)
}
