package server_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/posttrainarena/arena/protocol/api"
)

// walk calls do for every element of a document.
func walk(n *html.Node, do func(*html.Node)) {
	if n.Type == html.ElementNode {
		do(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, do)
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// pagesOf lists every page about a run of a collection, and whatever else the
// server shows that is no JSON.
func pagesOf(env api.Environment, run api.Run) []string {
	return []string{
		"/", "/index.md", "/arena", "/arena.md", "/arena/formula", "/arena/formula.md", "/results.rss", "/AGENTS.md", "/AGENTS-legacy.md", "/llms.txt",
		"/arena/submissions/" + env.ID, "/arena/submissions/" + env.ID + ".md", "/arena/runs/" + run.RunID, "/arena/runs/" + run.RunID + ".md",
	}
}

// TestPages reads every page as every caller: well-formed, with a policy that it
// keeps, saying that the arena is simulated, and with links that lead somewhere.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, fast)
	env, run := s.scored()
	s.want(201, "POST", runsPath+"/"+run.RunID+"/collect", author, nil)
	s.want(200, "POST", runsPath+"/"+run.RunID+"/review", editor, goodReview())
	s.want(201, "POST", "/api/board/messages", author, api.PostMessage{RequestID: "message-001", Body: "Look at <script>alert(1)</script>\n# this\n| and | this"})
	followed := map[string]bool{}
	for _, path := range pagesOf(env, run) {
		for _, who := range []string{nobody, author, editor} {
			a := s.want(200, "GET", path, who, nil)
			text := string(a.body)
			if !strings.Contains(strings.ToLower(text), "simulated") && path != "/AGENTS-legacy.md" {
				t.Errorf("%s does not say that the arena is simulated", path)
			}
			if !strings.HasPrefix(a.Header.Get("Content-Type"), api.ContentHTML) {
				if strings.Contains(text, "\n# this") || strings.Contains(text, "\n| and") {
					t.Errorf("%s: what a message says reads as part of the page", path)
				}
				continue
			}
			if got := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'") || strings.Contains(got, "unsafe") {
				t.Errorf("%s: policy %q", path, got)
			}
			doc, err := html.Parse(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			count := map[string]int{}
			walk(doc, func(n *html.Node) {
				count[n.Data]++
				if attribute(n, "style") != "" || n.Data == "style" || n.Data == "script" && attribute(n, "src") == "" {
					t.Errorf("%s: inline style or script in <%s>", path, n.Data)
				}
				for _, at := range n.Attr {
					if strings.HasPrefix(at.Key, "on") {
						t.Errorf("%s: <%s %s>", path, n.Data, at.Key)
					}
					if (at.Key == "href" || at.Key == "src") && strings.HasPrefix(at.Val, "/") {
						followed[at.Val] = true
					}
				}
			})
			if count["main"] != 1 || count["h1"] != 1 || count["nav"] == 0 || count["footer"] == 0 || count["script"] != 1 {
				t.Errorf("%s: landmarks %v", path, count)
			}
		}
	}
	for path := range followed {
		s.want(200, "GET", strings.SplitN(path, "#", 2)[0], nobody, nil)
	}
	if len(followed) < 15 {
		t.Errorf("only %d links were found", len(followed))
	}
	var feed struct {
		Items []struct {
			Title string `xml:"title"`
			Link  string `xml:"link"`
		} `xml:"channel>item"`
	}
	if err := xml.Unmarshal(s.want(200, "GET", "/results.rss", nobody, nil).body, &feed); err != nil || len(feed.Items) != 1 || !strings.HasSuffix(feed.Items[0].Link, run.RunID) {
		t.Errorf("the feed: %v %+v", err, feed)
	}
	// The same page again is not sent again.
	a := s.want(200, "GET", "/arena/formula.md", nobody, nil)
	s.want(304, "GET", "/arena/formula.md", nobody, nil, "If-None-Match", a.Header.Get("ETag"))
}

// TestNoPageTellsSecrets is the canary: nobody but an editor sees a sealed name,
// an e-mail address or a private link on a page or in a body. Sealed names are
// looked for in every answer of every test (look); this test asks for all pages
// and public routes and looks for the rest.
func TestNoPageTellsSecrets(t *testing.T) {
	t.Parallel()
	s := newSite(t, fast)
	env, run := s.scored()
	s.want(201, "POST", runsPath+"/"+run.RunID+"/collect", author, nil)
	mail := regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[a-z]{2,}`)
	seen := regexp.MustCompile(`"(job_url|report_url|source)":"[a-z]+:[^"]+"|"cells":\[`)
	paths := pagesOf(env, run)
	for _, route := range api.Routes() {
		if route.Method == "GET" && route.Content != api.ContentEvents && !route.Page {
			_, path, _ := example(route, env, run)
			paths = append(paths, path)
		}
	}
	asked, editors := 0, 0
	for _, path := range paths {
		for _, who := range []string{nobody, author, other} {
			body := string(s.do("GET", path, who, nil).body)
			asked++
			for _, address := range mail.FindAllString(body, -1) {
				if address != "AGENT_ID@example.org" { // the guide's own example
					t.Errorf("%s shows %s the address %s", path, who, address)
				}
			}
			if found := seen.FindString(body); found != "" {
				t.Errorf("%s shows %s %s", path, who, found)
			}
		}
		if seen.MatchString(string(s.do("GET", path, editor, nil).body)) {
			editors++
		}
	}
	if asked < 100 || editors == 0 {
		t.Errorf("%d answers were looked at, and editors see private parts in %d", asked, editors)
	}
}

// TestPostingWithTheForm posts as the board's page does.
func TestPostingWithTheForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	form := func(body string) string {
		return url.Values{"request_id": {"page-0123456789"}, "agent_id": {""}, "refs": {""}, "body": {body}}.Encode()
	}
	post := func(status int, who, body string, headers ...string) answer {
		t.Helper()
		return s.want(status, "POST", "/board", who, body, slices.Concat([]string{"Content-Type", api.ContentForm, "Sec-Fetch-Site", "same-origin"}, headers)...)
	}
	s.Client().CheckRedirect = noRedirect
	for range 2 { // pressing the button twice posts once
		if a := post(303, author, form("Hello\r\nfrom the page.")); a.Header.Get("Location") != "/?posted=1#messages" {
			t.Errorf("after posting: %v", a.Header)
		}
	}
	messages := decode[api.Messages](t, s.want(200, "GET", "/api/board/messages", nobody, nil)).Messages
	if len(messages) != 1 || messages[0].Body != "Hello\nfrom the page." || messages[0].Author != author {
		t.Errorf("the board: %+v", messages)
	}
	if a := post(401, nobody, form("Hello.")); a.code() != "signed-out" {
		t.Errorf("without an identity: %s", a.body)
	}
	if a := post(403, author, form("Hello."), "Sec-Fetch-Site", "cross-site"); a.code() != "cross-origin" {
		t.Errorf("from another site: %s", a.body)
	}
	if a := post(422, author, form("Another."), "Content-Type", "text/plain"); a.code() != "invalid" {
		t.Errorf("as something else: %s", a.body)
	}
	// A refusal shows the page again with what was written, but never a token.
	a := post(409, author, form("Another message."), "Accept", "text/html")
	if !strings.Contains(string(a.body), "Another message.") || !strings.Contains(string(a.body), "request-id-reused") {
		t.Errorf("a refusal: %s", a.body)
	}
	a = post(400, author, form("my token is "+s.tokens[other]), "Accept", "text/html")
	if strings.Contains(string(a.body), s.tokens[other]) || !strings.Contains(string(a.body), "token-in-url") {
		t.Errorf("a token in a message: %s", a.body)
	}
	// What is not there is a page for a browser, and JSON for a program.
	for accept, kind := range map[string]string{"text/html,*/*": api.ContentHTML, "*/*": api.ProblemType} {
		a := s.want(404, "GET", "/arena/runs/challenge-none", nobody, nil, "Accept", accept)
		if !strings.HasPrefix(a.Header.Get("Content-Type"), kind) || !strings.Contains(string(a.body), "no-run") {
			t.Errorf("for %s: %s %s", accept, a.Header.Get("Content-Type"), a.body)
		}
	}
}

// TestTheGuideIsTheArenas: what the guide says follows the configuration, and its
// address is the configured one whatever a client claims.
func TestTheGuideIsTheArenas(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *options) {
		o.server.BaseURL, o.server.MaxBundle = "https://arena.example.org", 3<<20
		o.service.PerHour.Messages = 7
		for i := range o.service.Challenges {
			if o.service.Challenges[i].ID == challenge {
				o.service.Challenges[i].RunsPaused = "the scales are being calibrated"
			}
		}
	})
	r := s.request("GET", "/AGENTS.md", nobody, nil, "X-Forwarded-Host", "evil.example.org")
	r.Host = "evil.example.org"
	guide := string(s.send(nobody, r).body)
	for _, want := range []string{"https://arena.example.org/openapi.json", "ARENA_URL=https://arena.example.org\n", "3 MiB an upload", "at most 7 an hour", "paused: the scales are being calibrated"} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide does not say %q", want)
		}
	}
	if strings.Contains(guide, "evil") || strings.Contains(guide, "127.0.0.1") {
		t.Error("the guide believes what a client says of its address")
	}
}

// TestClientBinary: the command line comes with its digest, in whole and in part,
// for the words of Go and of uname.
func TestClientBinary(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{"/cli/linux/amd64", "/cli/Linux/x86_64"} {
		a := s.want(200, "GET", path, nobody, nil)
		b := must(oneClient("linux", "amd64"))(t)
		if string(a.body) != "the program\n" || a.Header.Get("ETag") != fmt.Sprintf("%q", "sha256-"+fmt.Sprintf("%x", b.Digest)) || !strings.HasPrefix(a.Header.Get("Repr-Digest"), "sha-256=:") {
			t.Errorf("%s: %v %q", path, a.Header, a.body)
		}
		s.want(304, "GET", path, nobody, nil, "If-None-Match", a.Header.Get("ETag"))
	}
	r := s.request("GET", "/cli/linux/amd64", nobody, nil, "Range", "bytes=4-10")
	res := must(s.Client().Do(r))(t)
	_ = res.Body.Close()
	if res.StatusCode != 206 {
		t.Errorf("a part: %s", res.Status)
	}
	s.wantProblem(404, "not-found", "GET", "/cli/plan9/mips", nobody, nil)
	none := newSite(t, func(o *options) { o.server.Client = nil })
	none.wantProblem(404, "not-found", "GET", "/cli/linux/amd64", nobody, nil)
}

// noRedirect makes a client show redirects instead of following them.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
