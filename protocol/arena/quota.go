package arena

import (
	"math"
	"sync"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// quota is a token bucket per account: a burst of up to an hour's worth, then a
// steady rate. It keeps no account that is full again.
type quota struct {
	what    string // what is counted, for the refusal
	perHour int    // 0 means unlimited

	mu    sync.Mutex
	spent map[string]spending
}

// spending is how far an account is into its hour as of a moment.
type spending struct {
	used float64
	at   time.Time
}

// take uses one unit of an account's hour, or refuses with the time until one
// is free.
func (q *quota) take(account string, now time.Time) error {
	if q.perHour <= 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget(now)
	s := q.refilled(account, now)
	if s.used+1 > float64(q.perHour) {
		wait := time.Duration((s.used + 1 - float64(q.perHour)) / float64(q.perHour) * float64(time.Hour))
		return protocol.ErrRateLimited.After(max(wait, time.Second)).
			Detailf("You have used up your %s: %d an hour are allowed. The next is free in %s.", q.what, q.perHour, max(wait, time.Second).Round(time.Second))
	}
	q.spent[account] = spending{s.used + 1, now}
	return nil
}

// standing says how much of its hour an account has used; nil when nothing
// bounds it. What is used comes back evenly, so a started unit counts as used.
func (q *quota) standing(account string, now time.Time) *protocol.CountLimit {
	if q.perHour <= 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	used := q.refilled(account, now).used
	whole := int(math.Ceil(used - 1e-9)) // what floating point leaves of a unit is none
	l := &protocol.CountLimit{Used: whole, Limit: q.perHour, Remaining: q.perHour - whole}
	if whole > 0 {
		back := time.Duration((used - float64(whole-1)) / float64(q.perHour) * float64(time.Hour))
		at := now.Add(back).UTC().Truncate(time.Second).Add(time.Second) // never promised too early
		l.ResetsAt = &at
	}
	return l
}

// HourLimits says how much of an hour's worth an account has used. Nobody has
// limits without an account.
func (s *Service) HourLimits(who protocol.Identity) protocol.HourLimits {
	if !who.SignedIn() {
		return protocol.HourLimits{}
	}
	now := s.now()
	return protocol.HourLimits{Validations: s.validations.standing(who.Name, now), Messages: s.messages.standing(who.Name, now)}
}

// refilled is an account's spending with what time has given back.
func (q *quota) refilled(account string, now time.Time) spending {
	s := q.spent[account]
	if back := now.Sub(s.at).Hours() * float64(q.perHour); back > 0 {
		s.used = max(0, s.used-back)
	}
	return s
}

// quotaAccounts is how many accounts are kept before full ones are forgotten.
const quotaAccounts = 10_000

func (q *quota) forget(now time.Time) {
	if q.spent == nil {
		q.spent = map[string]spending{}
	}
	if len(q.spent) < quotaAccounts {
		return
	}
	for account := range q.spent {
		if q.refilled(account, now).used == 0 {
			delete(q.spent, account)
		}
	}
}
