package arena

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/joblog"
)

// Bounds of what one run may upload, for each part of it that is kept.
const (
	maxArtifactFiles = 200_000
	maxArtifactBytes = 4 << 30
)

// Configure returns the parts of a service that a configuration decides. What
// the configuration cannot know is for the caller: store, sealed tasks,
// providers, hosts, clock and logger.
func Configure(cfg configs.Config) (Config, error) {
	challenges, err := compose.Challenges(cfg)
	if err != nil {
		return Config{}, err
	}
	issues, err := knownIssues(cfg)
	if err != nil {
		return Config{}, err
	}
	limit, err := protocol.ParseMicros(string(cfg.Arena.Budget.Cap))
	if err != nil {
		return Config{}, fmt.Errorf("arena.toml: budget.cap: %w", err)
	}
	prior, err := protocol.ParseMicros(string(cfg.Arena.Budget.PriorAllowance))
	if err != nil {
		return Config{}, fmt.Errorf("arena.toml: budget.prior_allowance: %w", err)
	}
	artifacts := task.DefaultLimits()
	artifacts.MaxFiles, artifacts.MaxTotalBytes = maxArtifactFiles, maxArtifactBytes
	return Config{
		Configs: cfg, Challenges: challenges, Issues: issues, Limits: task.DefaultLimits(), ArtifactLimits: artifacts,
		ExtraTracks: slices.Sorted(maps.Keys(cfg.Arena.Tracks)),
		PerHour:     PerHour{Validations: cfg.Arena.Limits.ValidationsPerHour, Messages: cfg.Arena.Limits.MessagesPerHour},
		PeopleCache: time.Duration(cfg.Arena.Identity.WhoamiCacheSeconds) * time.Second,
		Cap:         limit, Prior: prior, Timing: DefaultTiming(), Patience: patience(cfg.Arena.Stalled),
	}, nil
}

// patience is how long runs may wait before they count as stalled.
func patience(s configs.Stalled) protocol.Patience {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	return protocol.Patience{
		NoJob: minutes(s.NoJobMinutes), NoOutput: minutes(s.NoOutputMinutes), Silence: minutes(s.SilenceMinutes),
		Cancel: minutes(s.CancelMinutes), Unreachable: minutes(s.UnreachableMinutes),
	}
}

// Prices are the hourly prices of the configured flavors, for providers without
// a price list of their own.
func Prices(cfg configs.Config) (map[string]protocol.Micros, error) {
	prices := map[string]protocol.Micros{}
	for name, f := range cfg.Arena.Flavors {
		price, err := protocol.ParseMicros(string(f.PricePerHour))
		if err != nil {
			return nil, fmt.Errorf("arena.toml: flavors.%s.price_per_hour: %w", name, err)
		}
		prices[name] = price
	}
	return prices, nil
}

// knownIssues are the configured explanations of why runs stop, one for each
// stage that an entry names.
func knownIssues(cfg configs.Config) ([]joblog.KnownIssue, error) {
	var issues []joblog.KnownIssue
	for _, k := range cfg.KnownIssues {
		pattern, err := regexp.Compile(k.Pattern)
		if err != nil {
			return nil, fmt.Errorf("known_issues.toml: issue %s: %w", k.ID, err)
		}
		stages := k.Stages
		if len(stages) == 0 {
			stages = []string{""}
		}
		for _, stage := range stages {
			issues = append(issues, joblog.KnownIssue{
				Stage: protocol.Stage(stage), Pattern: pattern, Class: protocol.FaultClass(k.Class), Sentence: k.Sentence, Advice: k.Advice,
			})
		}
	}
	return issues, nil
}
