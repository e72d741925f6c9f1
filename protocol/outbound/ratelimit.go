package outbound

import (
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// rateLimit is a limit as the Hugging Face hub states it (H6), such as "api";r=0;t=55.
var rateLimit = regexp.MustCompile(`^\s*"([a-z ]{1,40})"\s*;\s*r=([0-9]{1,12})\s*;\s*t=([0-9]{1,12})`)

// JudgeRateLimit is a Client.Judge that reads the headers by which the Hugging Face
// hub states its limits. They explain a 429 only when nothing remains; otherwise an
// action has a quota of its own (H6).
func JudgeRateLimit(e *Error) {
	if e.Status != http.StatusTooManyRequests {
		return
	}
	e.Limit = "a limit"
	m := rateLimit.FindStringSubmatch(e.Header.Get("RateLimit"))
	if m == nil || m[2] != "0" {
		return
	}
	e.Limit = "the limit on " + m[1]
	if seconds, err := strconv.ParseInt(m[3], 10, 64); err == nil && e.Wait == 0 {
		e.Wait = min(time.Duration(min(seconds, 86_400)+1)*time.Second, MaxWait)
	}
}
