package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
)

// The identifiers of the format that SARIF writes (OASIS SARIF 2.1.0, §3.13).
const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifRoot    = "SRCROOT"
)

// SARIF writes the report as a SARIF 2.1.0 log with one run, for code scanning tools. The rules describe the codes;
// Locate must give paths relative to the repository's root, nil means TaskPath.
func SARIF(w io.Writer, r Report, rules []Rule, locate Locator) error {
	run := sarifRun{
		Tool:             sarifTool{sarifDriver{Name: "arena gates", SemanticVersion: r.Version, Rules: make([]sarifRule, len(rules))}},
		ColumnKind:       "unicodeCodePoints",
		OriginalURIBases: map[string]sarifBase{sarifRoot: {Description: sarifMessage{Text: "The root of the checked files"}}},
		Results:          []sarifResult{},
		Properties:       map[string]any{"gateSet": r.GateSet, "policyDigest": r.PolicyDigest, "summary": r.Summary},
	}
	index := map[string]int{}
	for i, rule := range rules {
		index[rule.Code] = i
		run.Tool.Driver.Rules[i] = newSarifRule(rule)
	}
	seen := map[string]int{}
	for _, f := range r.all() {
		result := newSarifResult(f, locate, seen)
		if i, ok := index[f.Code]; ok {
			result.RuleIndex = &i
		}
		run.Results = append(run.Results, result)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{run}}); err != nil {
		return fmt.Errorf("write report as sarif: %w", err)
	}
	return nil
}

func newSarifRule(rule Rule) sarifRule {
	return sarifRule{
		ID:                   rule.Code,
		ShortDescription:     sarifMessage{Text: rule.Title},
		FullDescription:      sarifMessage{Text: rule.Meaning},
		Help:                 sarifMessage{Text: rule.Why + "\n\nExample: " + rule.Example + "\n\nFix: " + rule.Fix},
		DefaultConfiguration: sarifConfiguration{Level: sarifLevel(rule.Severity)},
		Properties:           map[string]any{"severity": rule.Severity},
	}
}

// newSarifResult makes one result; seen counts equal findings so that each keeps its own fingerprint.
func newSarifResult(f Finding, locate Locator, seen map[string]int) sarifResult {
	text := f.Message
	if text == "" {
		text = f.Code
	}
	if f.Fix != "" {
		text += "\nFix: " + f.Fix
	}
	key := f.Code + "\x00" + f.Task + "\x00" + f.Path
	seen[key]++
	sum := sha256.Sum256([]byte(key + "\x00" + strconv.Itoa(seen[key])))
	place := sarifPhysical{Artifact: sarifArtifact{URI: (&url.URL{Path: locate.of(f)}).String(), Base: sarifRoot}}
	if f.Line > 0 {
		place.Region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column}
	}
	location := sarifLocation{Physical: place}
	if f.Task != "" {
		location.Logical = []sarifLogical{{Name: f.Task, Kind: "module"}}
	}
	return sarifResult{
		RuleID:       f.Code,
		Level:        sarifLevel(f.Severity),
		Message:      sarifMessage{Text: text},
		Locations:    []sarifLocation{location},
		Fingerprints: map[string]string{"arenaFinding/v1": hex.EncodeToString(sum[:])},
		Properties:   map[string]any{"severity": f.Severity},
	}
}

func sarifLevel(s Severity) string {
	if level := command(s); level != "notice" {
		return level
	}
	return "note"
}

// The part of SARIF's object model that we write. Names in the tags are the standard's.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool             sarifTool            `json:"tool"`
		ColumnKind       string               `json:"columnKind"`
		OriginalURIBases map[string]sarifBase `json:"originalUriBaseIds"`
		Results          []sarifResult        `json:"results"`
		Properties       map[string]any       `json:"properties"`
	}
	sarifBase struct {
		Description sarifMessage `json:"description"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name            string      `json:"name"`
		SemanticVersion string      `json:"semanticVersion"`
		Rules           []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		ShortDescription     sarifMessage       `json:"shortDescription"`
		FullDescription      sarifMessage       `json:"fullDescription"`
		Help                 sarifMessage       `json:"help"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
		Properties           map[string]any     `json:"properties"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    *int              `json:"ruleIndex,omitempty"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]any    `json:"properties"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
)
