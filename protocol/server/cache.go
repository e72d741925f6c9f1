package server

import (
	"net/http"
	"sync"
	"time"
)

// Bounds of what answers are kept, and for how long: what an answer says about
// the time (since when, how long until) may be so old, and nothing else.
const (
	keptAnswers = 512
	keptBytes   = 256 << 10
	keptFor     = time.Second
)

// answers keeps what anybody who is not signed in was answered, for as long as
// nothing in the store has changed. A popular page then costs no query but the
// one that asks for changes, which reads nothing.
type answers struct {
	mu  sync.Mutex
	all map[string]kept
}

// kept is an answer and what it was made from.
type kept struct {
	state int64     // of the store, before it was made
	at    time.Time // when it was made
	kind  string    // content type
	link  string
	tag   string
	body  []byte
}

// get returns an answer that still holds.
func (a *answers) get(key string, state int64, now time.Time) (kept, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.all[key]
	age := now.Sub(k.at)
	return k, ok && k.state == state && age >= 0 && age < keptFor
}

func (a *answers) put(key string, k kept) {
	if len(k.body) > keptBytes {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil || len(a.all) >= keptAnswers { // starting over is cheap, and rare
		a.all = map[string]kept{}
	}
	a.all[key] = k
}

// fromKept answers a call from what was kept, when there is something that holds.
// Otherwise it prepares the call so that its answer is kept.
func (c *call) fromKept() bool {
	if c.r.Method != http.MethodGet || c.route.Answer == nil || c.who.SignedIn() || !limited(c.route) || c.route.Stream {
		return false
	}
	state, err := c.server.Service.State(c.ctx())
	if err != nil {
		return false // the handler says what is wrong
	}
	c.key = c.r.URL.Path + "?" + c.r.URL.RawQuery
	c.state, c.began = state, c.server.Now()
	k, ok := c.server.answers.get(c.key, state, c.began)
	if !ok {
		return false
	}
	if k.link != "" {
		c.w.Header().Set("Link", k.link)
	}
	c.deliver(http.StatusOK, k.kind, k.tag, k.body)
	return true
}
