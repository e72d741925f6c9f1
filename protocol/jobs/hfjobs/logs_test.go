package hfjobs_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/hub/hubtest"
	"github.com/posttrainarena/arena/protocol/jobs"
)

func texts(t *testing.T, p jobs.Provider, id string, after int64) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var all []string
	for line, err := range p.Logs(ctx, id, after) {
		if err != nil {
			t.Fatalf("after %d lines: %v", len(all), err)
		}
		all = append(all, line.Text)
	}
	return all
}

// TestLogForms: events that are several lines, parts of lines, progress bars, very
// long, not UTF-8, of one time, and the service's own marks (J16, J18).
func TestLogForms(t *testing.T) {
	p := newPlace(t)
	long := strings.Repeat("x", 1<<20)
	p.jobs.Play = func(job *hubtest.Job) {
		job.Print("plain", "a\nb", "10%\r20%\r30%", "\x1b[31mred\x1b[0m", "", long, "bad \xff byte", "ended\n", "be", "gun\nand ", "more\n", "===== not a mark", "left over")
		job.End("COMPLETED", "", time.Minute)
	}
	provider := p.open()
	job, err := provider.Start(t.Context(), spec(run, "x"))
	if err != nil {
		t.Fatal(err)
	}
	got := texts(t, provider, job.ID, 0)
	want := []string{"plain", "a", "b", "10%\r20%\r30%", "\x1b[31mred\x1b[0m", "", long, "bad � byte", "ended", "begun", "and more", "===== not a markleft over"}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%.400q", got)
	}
}

// TestLogBreaks: a stream that breaks again and again loses nothing and repeats
// nothing.
func TestLogBreaks(t *testing.T) {
	p := newPlace(t)
	p.jobs.BreakEvery = 1
	p.jobs.Play = func(job *hubtest.Job) {
		for i := range 200 {
			job.Print(fmt.Sprintf("line %d", i))
		}
		job.End("COMPLETED", "", time.Minute)
	}
	provider := p.open()
	job, err := provider.Start(t.Context(), spec(run, "x"))
	if err != nil {
		t.Fatal(err)
	}
	got := texts(t, provider, job.ID, 0)
	for i, text := range got {
		if text != fmt.Sprintf("line %d", i) {
			t.Fatalf("line %d is %q", i, text)
		}
	}
	if n := p.hub.Calls("GET /api/jobs/benchflow/" + job.ID + "/logs"); len(got) != 200 || n < 200 {
		t.Errorf("%d lines over %d connections", len(got), n)
	}
}

// TestLogsThatDoNotEnd: of a job that has ended, and of one whose image was never
// built (J17).
func TestLogsThatDoNotEnd(t *testing.T) {
	p := newPlace(t)
	p.jobs.Unending = true
	provider := p.open()
	job, err := provider.Start(t.Context(), spec(run, "short"))
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(t, provider, job.ID, 0); len(got) == 0 || got[len(got)-1] != "TRAINER_EXIT=0" {
		t.Errorf("%q", got)
	}
	p.jobs.Play = nil
	silent, err := provider.Start(t.Context(), spec(run+"c", "x"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan []string)
	go func() { done <- texts(t, provider, silent.ID, 0) }()
	jobsOf := p.jobs.All()
	jobsOf[1].End("ERROR", "image not found", 0)
	// Only the service's own marks are in it.
	if got := <-done; len(got) != 0 {
		t.Errorf("%q", got)
	}
	p.jobs.Forget(job.ID)
	for _, err := range provider.Logs(t.Context(), job.ID, 0) {
		if class(err) != "no job" {
			t.Errorf("the log of a job that is gone: %v", err)
		}
	}
}

// TestALogThatLosesItsHead: it goes on where it was if the last lines are still
// there; else everything is kept, and the gap is said (J19).
func TestALogThatLosesItsHead(t *testing.T) {
	for _, c := range []struct {
		about string
		cut   int // events that are gone on the second connection
		want  string
	}{
		{"a few", 2, `["0" "1" "2" "3" "4" "5" "6" "7" "8" "9"]`},
		{"all that were read", 7, `["0" "1" "2" "3" "4" "5" "[arena] the provider's log has changed: lines may be missing or repeated here" "6" "7" "8" "9"]`},
	} {
		t.Run(c.about, func(t *testing.T) {
			p := newPlace(t)
			p.jobs.Play = func(job *hubtest.Job) {
				for i := range 10 {
					p.ahead.Add(int64(time.Second))
					job.Print(fmt.Sprint(i))
				}
				job.End("COMPLETED", "", time.Minute)
			}
			provider := p.open()
			job, err := provider.Start(t.Context(), spec(run, "x"))
			if err != nil {
				t.Fatal(err)
			}
			part := func(from, to int) hubtest.Fault {
				return hubtest.Changed(func(body string) string {
					events := strings.SplitAfter(body, "\n\n")
					return strings.Join(events[from:min(to, len(events))], "")
				})
			}
			logs := "GET /api/jobs/benchflow/" + job.ID + "/logs"
			p.hub.Fail(logs, 1, func(s *hubtest.Server, w http.ResponseWriter, r *http.Request, next http.Handler) {
				part(0, 7)(s, w, r, next) // the mark, and 0 to 5
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			p.hub.Fail(logs, 2, part(c.cut, 100))
			if got := fmt.Sprintf("%q", texts(t, provider, job.ID, 0)); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}
