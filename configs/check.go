package configs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// check reports references to fragments that do not exist.
func check(c Config) Problems {
	var problems Problems
	refer := func(o Origin, key, kind, id string, known []string) {
		if !slices.Contains(known, id) {
			p := o.Problem(key, "there is no %s %q", kind, id)
			p.Fix = suggestion(id, known)
			problems = append(problems, p)
		}
	}
	models, methods, suites, tracks := ids(c.Models), ids(c.Methods), ids(c.Suites), ids(c.Arena.Tracks)
	for _, id := range ids(c.Challenges) {
		ch := c.Challenges[id]
		refer(ch.Origin, "binding.model", "model", ch.Binding.Model, models)
		refer(ch.Origin, "binding.method", "method", ch.Binding.Method, methods)
		refer(ch.Origin, "track", "track", ch.Track, tracks)
		for i, s := range ch.Binding.Suites {
			refer(ch.Origin, "binding.suites", "suite", s, suites)
			if slices.Contains(ch.Binding.Suites[:i], s) {
				problems = append(problems, ch.Origin.Problem("binding.suites", "names the suite %q twice", s))
			}
		}
		if len(ch.Binding.Suites) == 0 {
			problems = append(problems, ch.Origin.Problem("binding.suites", "names no suite"))
		}
		if slices.Contains(tracks, id) {
			problems = append(problems, Problem{File: ch.Origin.File, Message: fmt.Sprintf("a challenge and a track are both called %q, so a submission to it would be ambiguous", id)})
		}
	}
	for _, id := range ids(c.Arena.Suites) {
		refer(c.Arena.Origin, dotted("suites", id), "suite", id, suites)
	}
	return append(problems, checkOperations(c.Arena)...)
}

// originPattern is an origin that a policy for browsers can name: no pattern of many
// sites, and nothing that could end the policy.
var originPattern = regexp.MustCompile(`^https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// checkOperations reports numbers with which an arena cannot be run.
func checkOperations(a Arena) Problems {
	var problems Problems
	for _, n := range []struct {
		key   string
		value int
		least int
	}{
		{"backups.every_hours", a.Backups.EveryHours, 0},
		{"backups.keep", a.Backups.Keep, 1},
		{"limits.disk_floor_mib", a.Limits.DiskFloorMiB, 0},
		{"limits.reads_per_minute", a.Limits.ReadsPerMinute, 0},
		{"limits.writes_per_minute", a.Limits.WritesPerMinute, 0},
		{"limits.failed_per_minute", a.Limits.FailedPerMinute, 0},
		{"limits.streams_per_owner", a.Limits.StreamsPerOwner, 0},
	} {
		if n.value < n.least {
			problems = append(problems, a.Origin.Problem(n.key, "is %d and must be at least %d", n.value, n.least))
		}
	}
	for _, site := range a.Server.FrameAncestors {
		if !originPattern.MatchString(site) {
			problems = append(problems, a.Origin.Problem("server.frame_ancestors", "names %q, which is no origin; write https://HOST without a path, such as https://huggingface.co", site))
		}
	}
	if a.Backups.EveryHours > 0 && a.Backups.Directory == "" {
		problems = append(problems, a.Origin.Problem("backups.directory", "is empty; name a directory, or set every_hours = 0"))
	}
	return problems
}

// checkIssues reports known issues that share an id or whose pattern is no
// regular expression or empty.
func checkIssues(issues []KnownIssue) Problems {
	var problems Problems
	first := map[string]int{}
	for i, issue := range issues {
		if j, ok := first[issue.ID]; ok && issue.ID != "" {
			problems = append(problems, issue.Origin.Problem("id", "%q is already the id of entry %d", issue.ID, j+1))
		} else {
			first[issue.ID] = i
		}
		if _, err := regexp.Compile(issue.Pattern); err != nil {
			problems = append(problems, issue.Origin.Problem("pattern", "is not a regular expression: %v", err))
		} else if issue.Pattern == "" {
			problems = append(problems, issue.Origin.Problem("pattern", "is empty and would explain every run; write what the reason says"))
		}
	}
	return problems
}

// ids lists the ids of fragments, sorted.
func ids[T any](fragments map[string]T) []string { return slices.Sorted(maps.Keys(fragments)) }
