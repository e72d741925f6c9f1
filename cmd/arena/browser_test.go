package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/posttrainarena/arena/protocol/api"
)

// chromium is the program of a browser, or the reason why there is none.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here (Debian: apt-get install chromium), so the pages are not looked at in a browser")
	return ""
}

// browser is a browser, and what it complained about.
type browser struct {
	t   *testing.T
	ctx context.Context
	url string

	mu         sync.Mutex
	complaints []string
}

// openBrowser starts one. A page that complains, by an error on the console, an
// exception, or a violation of the content policy, fails the test.
func openBrowser(t *testing.T, url string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.UserDataDir(t.TempDir()))
	limited, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	allocated, stop := chromedp.NewExecAllocator(limited, options...)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(func() { end(); stop(); cancel() })
	b := &browser{t: t, ctx: ctx, url: url}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" {
				b.complain(fmt.Sprintf("the console says %v", e.Args))
			}
		case *runtime.EventExceptionThrown:
			b.complain("an exception: " + e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if e.Entry.Level == "error" || e.Entry.Level == "warning" {
				b.complain(string(e.Entry.Source) + ": " + e.Entry.Text + " " + e.Entry.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.do(tell(log.Enable, cdp.Empty{}), tell(runtime.Enable, cdp.Empty{}), tell(network.Enable, network.EnableParams{}))
	return b
}

func (b *browser) complain(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, what)
}

// tell sends a command of the browser's protocol.
func tell[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// eval asks the page for a value.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%.60s: %v", expression, err)
	}
	return v
}

// until waits until the page says yes.
func (b *browser) until(expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression)); err != nil {
		b.t.Fatalf("%s never holds: %v", expression, err)
	}
}

// screen sets the size of the window and the colours that its reader prefers.
func (b *browser) screen(width, height int64, scheme string) {
	b.t.Helper()
	b.do(
		tell(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		chromedp.EmulateViewport(width, height),
	)
}

// do does something, and reports what the page complained about since.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Error(c)
	}
	b.complaints = nil
}

// open shows a page.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// as signs the browser's requests with a token, as a session would.
func (b *browser) as(token string) {
	b.do(tell(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": "Bearer " + token}}))
}

// text is what the page says.
func (b *browser) text() string {
	b.t.Helper()
	return eval[string](b, `document.body.innerText`)
}

// ask runs a check in the page, which returns what is wrong, one string each.
func (b *browser) ask(check string) []string {
	b.t.Helper()
	return eval[[]string](b, "("+check+")()")
}

// shot keeps a picture of the whole page for people to look at.
func (b *browser) shot(dir, name string) {
	b.t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// accessible is what assistive technology needs of a page: names, landmarks,
// headings in order, and text that can be told from its background.
const accessible = `() => {
  const wrong = [];
  const all = (s) => [...document.querySelectorAll(s)];
  const words = (e) => (e.getAttribute("aria-label") || e.textContent || e.title || "").trim();
  if (!document.documentElement.lang) wrong.push("the document has no language");
  if (!document.title.trim()) wrong.push("the document has no title");
  for (const [mark, n] of [["main", 1], ["h1", 1], ["body > header", 1], ["body > footer", 1]])
    if (all(mark).length !== n) wrong.push(mark + ": " + all(mark).length + ", want " + n);
  if (all("nav").length === 0) wrong.push("there is no navigation");
  for (const e of all("nav, [role=region]")) if (!e.getAttribute("aria-label")) wrong.push("a landmark has no name: " + e.outerHTML.slice(0, 80));
  for (const e of all("section")) {
    const by = e.getAttribute("aria-labelledby");
    if (!by || !document.getElementById(by)) wrong.push("a section has no name: " + e.outerHTML.slice(0, 80));
  }
  let level = 0;
  for (const h of all("h1, h2, h3, h4")) {
    const l = Number(h.tagName[1]);
    if (l > level + 1) wrong.push("the heading '" + h.textContent + "' skips a level");
    level = l;
  }
  for (const e of all("a[href], button, summary")) if (!words(e)) wrong.push("nothing names " + e.outerHTML.slice(0, 80));
  for (const e of all("input:not([type=hidden]), textarea, select")) if (e.labels.length === 0 && !e.getAttribute("aria-label")) wrong.push("no label for " + e.outerHTML.slice(0, 80));
  for (const e of all("svg")) if (e.getAttribute("aria-hidden") !== "true" && !e.getAttribute("aria-label")) wrong.push("a picture has no words");
  for (const e of all("th")) if (!e.scope) wrong.push("a heading of a table has no scope: " + e.textContent);
  const ids = all("[id]").map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((i) => i === id).length > 1) wrong.push("the id " + id + " is there twice");
  for (const e of all('a[href^="#"]')) if (!document.getElementById(e.getAttribute("href").slice(1)) && !e.textContent.includes(".md")) wrong.push("a link leads nowhere: " + e.getAttribute("href"));

  const channel = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const parts = (c) => (c.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parts(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const low = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || e.closest("svg, script") || e.getClientRects().length === 0) continue;
    const style = getComputedStyle(e);
    const a = light(parts(style.color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.add(e.tagName + "." + e.className + " '" + walk.currentNode.textContent.trim().slice(0, 30) + "' has a contrast of " + ratio.toFixed(2));
  }
  for (const e of all("svg text")) {
    const a = light(parts(getComputedStyle(e).fill)), b = light(behind(e.closest("figure")));
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) low.add("text in a picture is too faint");
  }
  return [...wrong, ...low];
}`

// narrow is what must hold on a small screen: nothing sticks out sideways.
const narrow = `() => document.documentElement.scrollWidth > innerWidth
  ? ["the page is " + document.documentElement.scrollWidth + " wide on a screen of " + innerWidth + ": " +
     [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll")).slice(0, 3).map((e) => e.outerHTML.slice(0, 90)).join(" | ")]
  : []`

// focused describes where the keyboard is: its place among everything that it
// can reach, how many places there are, and whether it is seen.
const focused = `(() => {
  const reach = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter((e) => e.getClientRects().length > 0);
  const e = document.activeElement;
  const style = getComputedStyle(e);
  return { at: reach.indexOf(e), of: reach.length, seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2, what: e.outerHTML.slice(0, 80) };
})()`

// keyboard goes through a page with the tab key and reports what is out of
// order, unreachable or unseen.
func (b *browser) keyboard(path string) {
	b.t.Helper()
	type place struct {
		At   int    `json:"at"`
		Of   int    `json:"of"`
		Seen bool   `json:"seen"`
		What string `json:"what"`
	}
	last := -1
	for {
		b.do(chromedp.KeyEvent(kb.Tab))
		p := eval[place](b, focused)
		if p.At != last+1 {
			b.t.Errorf("%s: the tab key goes from place %d to %d of %d: %s", path, last, p.At, p.Of, p.What)
			return
		}
		if !p.Seen {
			b.t.Errorf("%s: the focus on %s is not seen", path, p.What)
		}
		if last = p.At; last == p.Of-1 || last > 60 {
			return
		}
	}
}

// TestPagesInABrowser looks at every page of a mocked arena in a real browser:
// dark and light, wide and narrow, with and without scripts, signed in and not.
func TestPagesInABrowser(t *testing.T) {
	chromium(t)
	url, data := startUp(t, "--speed", "600")
	secret, err := os.ReadFile(filepath.Join(data, "newcomer.token"))
	if err != nil {
		t.Fatal(err)
	}
	newcomer := strings.TrimSpace(string(secret))
	shots, err := os.MkdirTemp("", "arena-pages-")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("pictures are in %s", shots)

	var board api.Leaderboard
	if err := json.Unmarshal([]byte(fetch(t, url+"/api/challenges/skillsbench-9b/leaderboard")), &board); err != nil || len(board.Rows) == 0 {
		t.Fatalf("the leaderboard: %v", err)
	}
	ranked := board.Rows[0]
	var runs api.Runs
	if err := json.Unmarshal([]byte(fetch(t, url+"/api/challenges/skillsbench-9b/runs")), &runs); err != nil {
		t.Fatal(err)
	}
	failed, live := "", ""
	for _, r := range runs.Runs {
		if r.State == "failed" && failed == "" {
			failed = r.RunID
		}
		if !r.State.Ended() {
			live = r.RunID
		}
	}
	pages := map[string]struct{ path, says string }{
		"board":      {"/", "Add your agent"},
		"arena":      {"/arena", "Leaderboard of skillsbench-9b"},
		"formula":    {"/arena/formula", "Qwen/Qwen3.5-9B"},
		"submission": {"/arena/submissions/" + ranked.Collection, ranked.Title},
		"run":        {"/arena/runs/" + ranked.RunIDs[0], "heldout"},
		"run-failed": {"/arena/runs/" + failed, "failed"},
		"run-live":   {"/arena/runs/" + live, "baseline"},
	}
	b := openBrowser(t, url)
	for name, p := range pages {
		b.open(p.path)
		if text := b.text(); !strings.Contains(text, p.says) || !strings.Contains(text, "Everything in this arena is invented") {
			t.Errorf("%s does not say %q and that it is mocked:\n%s", p.path, p.says, text)
		}
		for _, scheme := range []string{"light", "dark"} {
			b.screen(1280, 900, scheme)
			for _, wrong := range b.ask(accessible) {
				t.Errorf("%s, %s: %s", p.path, scheme, wrong)
			}
			b.shot(shots, name+"-"+scheme)
		}
		b.screen(360, 740, "light")
		for _, wrong := range b.ask(narrow) {
			t.Errorf("%s: %s", p.path, wrong)
		}
		b.shot(shots, name+"-narrow")
		b.screen(1280, 900, "light")
		b.open(p.path)
		b.keyboard(p.path)
	}

	// The checks notice what they are for.
	b.open("/")
	eval[bool](b, `(() => {
		document.documentElement.removeAttribute("lang");
		document.querySelector("main p").style.color = "#ddd";
		document.querySelector("main h2").outerHTML = "<h4 id=post>Post</h4><input><svg></svg>";
		document.querySelector("main").style.width = "5000px";
		return true;
	})()`)
	found := strings.Join(append(b.ask(accessible), b.ask(narrow)...), "\n")
	for _, want := range []string{"no language", "contrast", "skips a level", "no label", "no words", "the page is"} {
		if !strings.Contains(found, want) {
			t.Errorf("on a broken page the checks do not find %q:\n%s", want, found)
		}
	}

	// Live: what somebody else posts appears without loading the page again.
	b.open("/")
	b.until(`document.querySelector("[data-live-note]").textContent.startsWith("Live")`)
	post(t, url, newcomer, "page-live-0001", "This appeared by itself.")
	b.until(`document.body.innerText.includes("This appeared by itself.")`)

	b.as(newcomer)
	b.open("/")
	for _, wrong := range b.ask(accessible) {
		t.Errorf("the board, signed in: %s", wrong)
	}
	b.keyboard("/ signed in")
	b.shot(shots, "board-signed-in")
	b.say("A message from the page.")

	// With scripts off everything is there, and the form works.
	b.do(tell(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	for _, p := range pages {
		b.open(p.path)
		if text := b.text(); !strings.Contains(text, p.says) {
			t.Errorf("%s without scripts does not say %q", p.path, p.says)
		}
	}
	b.open("/")
	b.say("A message without scripts.\n<script>alert(1)</script>")
	b.do(chromedp.Reload())
	if n := strings.Count(b.text(), "A message without scripts."); n != 1 {
		t.Errorf("after a reload the message is there %d times", n)
	}
}

// say posts a message with the form of the board's page.
func (b *browser) say(text string) {
	b.t.Helper()
	b.do(chromedp.SetValue(chromedp.CSS("#body"), text), chromedp.Click(chromedp.CSS("form button")), chromedp.WaitVisible(chromedp.CSS(".done")))
	got := b.text()
	for _, line := range append(strings.Split(text, "\n"), "Your message is posted") {
		if !strings.Contains(got, line) {
			b.t.Errorf("the board does not show %q:\n%.2000s", line, got)
		}
	}
}

// post posts a message with the command line.
func post(t *testing.T, url, token, id, body string) {
	t.Helper()
	name := file(t, "message.json", fmt.Sprintf(`{"request_id":%q,"body":%q}`, id, body))
	cmd := exec.Command("arena", "board", "post", "--file", name)
	cmd.Env = []string{"ARENA_URL=" + url, "ARENA_TOKEN=" + token, "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil || !regexp.MustCompile("Posted as").Match(out) {
		t.Fatalf("post: %v\n%s", err, out)
	}
}
