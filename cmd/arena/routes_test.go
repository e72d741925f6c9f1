package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// mayBeEmpty are the lists of answers that are empty in an arena where
// everything is in order.
func mayBeEmpty() []string { return []string{"orgs", "warnings", "held_out", "training", "history"} }

// routes asks the script's server for every route that everybody may read. Each
// answers 200 with something: an object whose lists have rows, a page, a stream
// that sends.
func routes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: routes")
	}
	r := router{ts: ts, base: ts.Getenv("ARENA_URL")}
	r.pick()
	asked := 0
	for _, route := range api.Routes() {
		if route.Method == http.MethodGet && route.Role == protocol.RolePublic {
			r.ask(route)
			asked++
		}
	}
	ts.Logf("%d routes answer", asked)
}

// router asks for routes, with ids of what the arena holds in their paths.
type router struct {
	ts   *testscript.TestScript
	base string
	ids  map[string]string // by parameter; {id} is decided by what stands before it
}

// pick picks a run that has a result, with its challenge and its collection.
func (r *router) pick() {
	r.ids = map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH, "name": "arena.css"}
	var board api.Leaderboard
	var challenges api.Challenges
	r.read("/api/challenges", &challenges)
	for _, c := range challenges.Challenges {
		if r.read("/api/challenges/"+c.ID+"/leaderboard", &board); len(board.Rows) > 0 {
			r.ids["challenges"], r.ids["env"], r.ids["environments"] = c.ID, board.Rows[0].Collection, board.Rows[0].Collection
			r.ids["run"] = board.Rows[0].RunIDs[0]
			return
		}
	}
	r.ts.Fatalf("no challenge has a leaderboard with a row")
}

func (r *router) read(path string, to any) {
	_, body := r.get(path)
	if err := json.Unmarshal(body, to); err != nil {
		r.ts.Fatalf("GET %s: %v", path, err)
	}
}

// get reads an answer, of a stream the first line that carries data.
func (r *router) get(path string) (*http.Response, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	r.ts.Check(err)
	a, err := http.DefaultClient.Do(req)
	r.ts.Check(err)
	defer a.Body.Close()
	if strings.HasPrefix(a.Header.Get("Content-Type"), api.ContentEvents) {
		for lines := bufio.NewScanner(a.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
				return a, []byte(data)
			}
		}
		return a, nil
	}
	body, err := io.ReadAll(io.LimitReader(a.Body, 64<<20))
	r.ts.Check(err)
	return a, body
}

var pathParameter = regexp.MustCompile(`([^/]*)/\{([^}]+)\}`)

// path is a route's path with ids of what is there.
func (r *router) path(route api.Route) string {
	return pathParameter.ReplaceAllStringFunc(route.Path, func(part string) string {
		m := pathParameter.FindStringSubmatch(part)
		id, ok := r.ids[m[2]]
		if m[2] == "id" {
			id, ok = r.ids[m[1]]
		}
		if !ok {
			r.ts.Fatalf("%s: nothing is known to put in the place of {%s}", route.Path, m[2])
		}
		return m[1] + "/" + id
	})
}

// ask asks for one route.
func (r *router) ask(route api.Route) {
	path := r.path(route)
	if route.Name == "events" {
		path += "?after=0" // what happened before counts
	}
	a, body := r.get(path)
	if a.StatusCode != http.StatusOK || len(strings.TrimSpace(string(body))) == 0 {
		r.ts.Fatalf("GET %s answers %s with %d bytes: %.300s", path, a.Status, len(body), body)
	}
	if route.Answer == nil {
		return
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil || len(members) == 0 {
		r.ts.Fatalf("GET %s answers no object with members: %v", path, err)
	}
	for name, v := range members {
		if list, is := v.([]any); is && len(list) == 0 && !strings.Contains(fmt.Sprint(mayBeEmpty()), name) {
			r.ts.Fatalf("GET %s: %s is empty", path, name)
		}
	}
}
