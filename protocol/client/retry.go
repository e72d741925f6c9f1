package client

import (
	"errors"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// maxRetryAfter is the longest wait that the client does by itself. An arena
// that asks for more gets its wait from the person or program that calls.
const maxRetryAfter = 30 * time.Second

// pauses are the waits before the second, third and fourth try (PROTOCOL §16).
func pauses() []time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}
}

// repeatable reports whether sending a request of the route again has no second
// effect: reads, and the writes that are keyed by content or request id.
func repeatable(route, method string) bool {
	switch route {
	case "validate", "submit", "launch", "collect", "postMessage", "cancel":
		return true
	default:
		return method == "GET"
	}
}

// pause decides about a failed try, counted from 1: how long to wait before the
// next one, or that there is none. Only what may pass by itself is tried again:
// a broken connection, a proxy's error page, a 503 of the arena, and its 429 for
// too many requests. Every other answer is definite.
func pause(route, method string, try int, err error) (time.Duration, bool) {
	waits := pauses()
	if try > len(waits) || !repeatable(route, method) || !passing(err) {
		return 0, false
	}
	e := protocol.AsError(err)
	if e.RetryAfter > maxRetryAfter {
		return 0, false
	}
	return max(waits[try-1], e.RetryAfter), true
}

// passing reports whether a failure may be gone in a moment.
func passing(err error) bool {
	answer, ok := errors.AsType[*AnswerError](err)
	if !ok {
		return errors.Is(err, ErrNetwork) || errors.Is(err, ErrProxy)
	}
	return answer.Problem.Kind == protocol.KindUnavailable || errors.Is(answer, protocol.ErrRateLimited)
}
