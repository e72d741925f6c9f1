package controls

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posttrainarena/arena/gates/task"
)

// terms are what a package says about how it is run (reference/pipeline.md §1.3).
type terms struct {
	build    time.Duration // limit of the build
	agent    time.Duration // limit of the script
	verifier time.Duration // limit of test.sh
	limits   Limits
	oracle   []string // environment of the script
	checks   []string // environment of test.sh
	low      float64  // the rewards that count
	high     float64
	user     string // whom the agent runs as: a number or a name of the image
}

// The limits of a package that names none, and the most that one can ask for.
const (
	defaultBuild    = 600 * time.Second
	defaultVerifier = 600 * time.Second
	defaultAgent    = 900 * time.Second
	longest         = 2 * time.Hour
	defaultMemoryMB = 2048
	maxMemoryMB     = 64 << 10
	maxCPUs         = 64
)

// termsOf reads a package's terms. agent is the script's limit when the package names none.
func termsOf(p *task.Package, agent time.Duration) terms {
	if agent <= 0 {
		agent = defaultAgent
	}
	f := p.Frontmatter
	box := f.Get("sandbox")
	if !f.Has("sandbox") {
		box = f.Get("environment")
	}
	t := terms{
		build: seconds(box.Get("build_timeout_sec"), defaultBuild), agent: seconds(f.Get("agent", "timeout_sec"), agent),
		verifier: seconds(f.Get("verifier", "timeout_sec"), defaultVerifier), high: 1,
		limits: Limits{Memory: int64(memoryMB(box)) << 20, CPUs: 1},
		checks: environ(f.Get("verifier", "env")), user: agentUser,
	}
	switch name, ok := f.Get("agent", "user").AsText(); {
	case ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && name[0] != '-':
		t.user = name
	}
	if n, ok := box.Get("cpus").AsFloat(); ok && n > 0 {
		t.limits.CPUs = min(n, maxCPUs)
	}
	for _, name := range []string{"oracle", "solution"} {
		t.oracle = append(t.oracle, environ(f.Get(name, "env"))...)
	}
	if r := f.Get("verifier", "reward_range").Items; len(r) == 2 {
		low, ok := r[0].AsFloat()
		high, ok2 := r[1].AsFloat()
		if ok && ok2 && low <= 0 && high >= 1 {
			t.low, t.high = low, high
		}
	}
	return t
}

func seconds(v task.Value, missing time.Duration) time.Duration {
	if n, ok := v.AsFloat(); ok && n > 0 {
		return min(time.Duration(min(n, longest.Seconds())*float64(time.Second)), longest)
	}
	return missing
}

// memoryMB is what memory_mb says, or the older memory as 2G or 512M.
func memoryMB(box task.Value) float64 {
	if n, ok := box.Get("memory_mb").AsFloat(); ok && n >= 16 {
		return min(n, maxMemoryMB)
	}
	if s, ok := box.Get("memory").AsText(); ok && len(s) > 1 {
		unit := map[byte]float64{'M': 1, 'G': 1024}[strings.ToUpper(s)[len(s)-1]]
		if n, err := strconv.ParseFloat(s[:len(s)-1], 64); err == nil && n*unit >= 16 {
			return min(n*unit, maxMemoryMB)
		}
	}
	return defaultMemoryMB
}

// environ is a table of variables as NAME=VALUE, sorted.
func environ(v task.Value) []string {
	vars := map[string]string{}
	for _, f := range v.Fields {
		if text, ok := f.Value.AsText(); ok && f.Key != "" && !strings.ContainsAny(f.Key, "=\x00") && !strings.Contains(text, "\x00") {
			vars[f.Key] = text
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, fmt.Sprintf("%s=%s", name, vars[name]))
	}
	return out
}
