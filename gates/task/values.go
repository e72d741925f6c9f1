package task

import (
	"fmt"
	"math"
	"slices"
)

// values checks the settings without which the pipeline cannot start a task at all: it refuses such a file when it
// reads it. Keys that are absent have defaults and are fine.
func (c *checker) values(sandbox string) {
	duration := func(v Value) string {
		if f, ok := v.AsFloat(); !ok || f <= 0 {
			return "must be a number of seconds above 0"
		}
		return ""
	}
	whole := func(least float64) func(Value) string {
		return func(v Value) string {
			if f, ok := v.AsFloat(); !ok || f < least || f != math.Trunc(f) {
				return fmt.Sprintf("must be a whole number of at least %g", least)
			}
			return ""
		}
	}
	truth := func(v Value) string {
		if _, ok := v.AsBool(); !ok {
			return "must be true or false"
		}
		return ""
	}
	network := func(v Value) string {
		if text, _ := v.AsText(); !slices.Contains([]string{"no-network", "public", "allowlist"}, text) {
			return "must be no-network, public or allowlist"
		}
		return ""
	}
	for _, rule := range []struct {
		table, key string
		wrong      func(Value) string
	}{
		{"agent", "timeout_sec", duration},
		{"verifier", "timeout_sec", duration},
		{sandbox, "build_timeout_sec", duration},
		{sandbox, "cpus", whole(1)},
		{sandbox, "memory_mb", whole(1)},
		{sandbox, "storage_mb", whole(1)},
		{sandbox, "gpus", whole(0)},
		{sandbox, "allow_internet", truth},
		{sandbox, "network_mode", network},
	} {
		v := c.pkg.Frontmatter.Get(rule.table, rule.key)
		if v.Kind == Absent || v.Kind == Null {
			continue
		}
		if message := rule.wrong(v); message != "" {
			c.value(rule.table+"."+rule.key, v.Line, message, "correct the value")
		}
	}
	c.network(c.pkg.Frontmatter.Get(sandbox), sandbox)
}

// network checks the settings that contradict each other.
func (c *checker) network(v Value, sandbox string) {
	mode, _ := v.Get("network_mode").AsText()
	hosts := v.Get("allowed_hosts")
	allowed, set := v.Get("allow_internet").AsBool()
	switch {
	case mode == "allowlist" && len(hosts.Items) == 0:
		c.value(sandbox+".allowed_hosts", v.KeyLine("network_mode"), "network_mode is allowlist and no host is allowed", "list the hosts, or use no-network")
	case mode != "" && mode != "allowlist" && len(hosts.Items) > 0:
		c.value(sandbox+".allowed_hosts", v.KeyLine("allowed_hosts"), "hosts are listed although network_mode is "+short(mode), "set network_mode to allowlist, or remove the list")
	}
	if set && ((allowed && mode == "no-network") || (!allowed && mode == "public")) {
		c.value(sandbox+".allow_internet", v.KeyLine("allow_internet"), "contradicts network_mode "+mode, "keep network_mode and remove allow_internet")
	}
}

func (c *checker) value(field string, line int, message, fix string) {
	c.fail(Problem{Code: "value-out-of-range", Path: "task.md", Line: line, Field: field, Message: message, Fix: fix})
}
