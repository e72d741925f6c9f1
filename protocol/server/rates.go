package server

import (
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// Rates bounds what one owner may ask for. An owner is an account that a token
// or a session vouches for, else a network address; 0 means no bound. Reads and
// writes have their own buckets, so that neither starves the other.
type Rates struct {
	Reads   int // requests a minute
	Writes  int
	Failed  int // requests a minute from one address with a token that is not known, or not yet
	Streams int // open at the same time
}

// maxOwners bounds the memory that strangers can make the server use. When it is
// reached, buckets that are full again are forgotten, which changes nothing for
// their owners; a flood of new addresses that are all active shares one bucket.
const maxOwners = 50_000

// limiter keeps a bucket for each owner.
type limiter struct {
	what      string
	perMinute int
	now       func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	rest    *rate.Limiter // of everybody for whom there is no room
}

func newLimiter(what string, perMinute int, now func() time.Time) *limiter {
	l := &limiter{what: what, perMinute: perMinute, now: now, buckets: map[string]*rate.Limiter{}}
	l.rest = l.bucket()
	return l
}

// bucket is a full one: a tenth of a minute's requests may come at once.
func (l *limiter) bucket() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), max(1, l.perMinute/10))
}

// take takes one request out of an owner's bucket, or says how long until it may.
func (l *limiter) take(owner string) error {
	if l.perMinute <= 0 {
		return nil
	}
	now := l.now()
	b := l.of(owner, now)
	if b.AllowN(now, 1) {
		return nil
	}
	return l.refuse(owner, b, now)
}

func (l *limiter) refuse(owner string, b *rate.Limiter, now time.Time) error {
	wait := time.Duration((1 - b.TokensAt(now)) / float64(b.Limit()) * float64(time.Second))
	seconds := max(1, math.Ceil(wait.Seconds()))
	return protocol.ErrRateLimited.Detailf("The bucket of %s for %s is empty: it takes %d a minute. Try again in %.0f s.", l.what, owner, l.perMinute, seconds).
		After(time.Duration(seconds) * time.Second)
}

// of finds or makes an owner's bucket.
func (l *limiter) of(owner string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[owner]; b != nil {
		return b
	}
	if len(l.buckets) >= maxOwners {
		for name, b := range l.buckets {
			if b.TokensAt(now) >= float64(b.Burst()) {
				delete(l.buckets, name)
			}
		}
		if len(l.buckets) >= maxOwners {
			return l.rest
		}
	}
	b := l.bucket()
	l.buckets[owner] = b
	return b
}

// seats bounds what each owner holds open at the same time.
type seats struct {
	most  int
	mu    sync.Mutex
	taken map[string]int
}

// take takes a seat, which leave gives back.
func (s *seats) take(owner string) (leave func(), err error) {
	if s.most <= 0 {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[owner] >= s.most {
		return nil, protocol.ErrRateLimited.Detailf("%s holds %d event streams open, which is the most. Close one.", owner, s.most).After(10 * time.Second)
	}
	s.taken[owner]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.taken[owner]--; s.taken[owner] == 0 {
			delete(s.taken, owner)
		}
	}, nil
}

// address is who a request comes from as far as the network knows. An IPv6
// network of 64 bits is one address: its holder has all of it.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip != nil && ip.To4() == nil {
		return "address " + ip.Mask(net.CIDRMask(64, 128)).String() + "/64"
	}
	return "address " + host
}

// owner is whose bucket a request is taken from.
func (c *call) owner() string {
	if c.who.SignedIn() {
		return "account " + c.who.Name
	}
	return address(c.r)
}

// limited reports whether a route has a bucket. Whether the process lives, is
// ready and is well must stay answerable while somebody floods it.
func limited(route api.Route) bool {
	switch route.Name {
	case "healthz", "readyz", "metrics":
		return false
	default:
		return true
	}
}

// spend takes the request out of its owner's bucket.
func (c *call) spend() error {
	if !limited(c.route) {
		return nil
	}
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return c.server.reads.take(c.owner())
	}
	return c.server.writes.take(c.owner())
}
