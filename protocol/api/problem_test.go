package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// TestProblemsSurviveTheWire sends refusals over the wire and back: what a
// program branches on is the same on both sides, and the cause stays behind.
func TestProblemsSurviveTheWire(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7: the cable is cut")
	for _, e := range []*protocol.Error{
		protocol.ErrNotFound,
		protocol.ErrDailyLimit.After(90 * time.Minute),
		protocol.ErrCap.Launch(protocol.LaunchedNo),
		protocol.ErrUnknownLaunch.Launch(protocol.LaunchedUnknown).Because(secret),
		protocol.ErrInvalid.WithFields(protocol.FieldError{Field: "refs[2]", Message: "is not the filename of a message"}),
		protocol.ErrInternal.Because(secret),
	} {
		raw, err := json.Marshal(api.ProblemFrom(fmt.Errorf("launch: %w", e), "req-12345678"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "cable") {
			t.Errorf("%s shows its cause: %s", e.Code, raw)
		}
		var p api.Problem
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if p.Status != e.Kind.Status() || p.Title != http.StatusText(p.Status) || p.RequestID != "req-12345678" {
			t.Errorf("%s: %+v", e.Code, p)
		}
		back := p.Err(e.RetryAfter)
		if !errors.Is(back, e) || back.Kind != e.Kind || back.Detail != e.Detail || back.Launched != e.Launched || back.RetrySame != e.RetrySame || len(back.Fields) != len(e.Fields) {
			t.Errorf("%s came back as %+v", e.Code, back)
		}
	}
}

// TestUnexpectedFailuresSayNothing turns a failure that is not in the catalogue
// into a problem.
func TestUnexpectedFailuresSayNothing(t *testing.T) {
	p := api.ProblemFrom(errors.New("no such table: runs"), "req-12345678")
	if p.Status != 500 || p.Code != "internal" || strings.Contains(p.Detail, "table") || p.Launched != nil {
		t.Errorf("%+v", p)
	}
}

// TestLaunchedIsABooleanOrAWord checks the wire form of the three answers, and
// that nothing else is read as one.
func TestLaunchedIsABooleanOrAWord(t *testing.T) {
	for value, want := range map[protocol.Launched]string{protocol.LaunchedNo: "false", protocol.LaunchedYes: "true", protocol.LaunchedUnknown: `"unknown"`} {
		raw, err := json.Marshal(api.Launched(value))
		var back api.Launched
		if err != nil || string(raw) != want || json.Unmarshal(raw, &back) != nil || back != api.Launched(value) {
			t.Errorf("%s is %s on the wire and comes back as %s, %v", value, raw, back, err)
		}
	}
	for _, raw := range []string{`"false"`, `0`, `null`, `"maybe"`} {
		var l api.Launched
		if err := json.Unmarshal([]byte(raw), &l); err == nil && raw != "null" {
			t.Errorf("%s is read as %q", raw, l)
		}
	}
}
