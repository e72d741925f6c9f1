package adversary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/posttrainarena/arena/gates/task"
)

// DefaultMutants is how many mutants are made when nobody says otherwise.
const DefaultMutants = 4

// MaxMutants bounds the mutants of one task.
const MaxMutants = 50

// Options say what to try.
type Options struct {
	Mutants int      `json:"mutants"`        // of the reference solution; 0 makes none
	Seed    uint64   `json:"seed"`           // chooses among the possible mutants
	Only    []string `json:"only,omitempty"` // names of trials, or of kinds; all when empty
}

// Kind tells trials apart.
type Kind string

// The kinds of trials.
const (
	AttackKind    Kind = "attack"
	ReferenceKind Kind = "reference" // the solution as it is: what its mutants are compared with
	MutantKind    Kind = "mutant"
)

// Trial is one thing to try on one task.
type Trial struct {
	Name   string
	Kind   Kind
	Guard  Guard  // Guarded for all but attacks
	Script string // of an attack: what the agent's user runs; otherwise the reference solution in the place of its own
	Moot   string // why there is nothing to try; empty when there is
	Attack Attack // of that kind
	Mutant Mutant // of that kind
	// Digest names the trial with the package's content: what was tried is not tried again.
	Digest string
}

// Plan lists the trials of a package. It is a pure function of the files and the options.
func Plan(p *task.Package, o Options) []Trial {
	s := surfaceOf(p)
	var all []Trial
	for _, a := range Attacks() {
		t := Trial{Name: a.Name, Kind: AttackKind, Guard: a.Guard, Attack: a, Script: a.script(s)}
		switch {
		case a.Need == Python && !s.python:
			t.Moot = "the verifier does not mention Python"
		case a.Need == Pytest && !s.pytest:
			t.Moot = "the verifier does not mention pytest"
		case a.Need == HasFiles && len(s.named) == 0:
			t.Moot = "the verifier names no file but its own and the work's"
		}
		all = append(all, t)
	}
	all = append(all, mutantTrials(p, o)...)
	hash := p.ContentHash()
	for i := range all {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%s", hash, all[i].Name, all[i].Guard, all[i].Script, Settle))
		all[i].Digest = "sha256:" + hex.EncodeToString(sum[:])
	}
	if len(o.Only) > 0 {
		all = slices.DeleteFunc(all, func(t Trial) bool {
			return t.Name != Idle && !slices.Contains(o.Only, t.Name) && !slices.Contains(o.Only, string(t.Kind)) && (t.Kind != ReferenceKind || !slices.Contains(o.Only, string(MutantKind)))
		})
	}
	return all
}

// mutantTrials are the mutants with the solution that they are compared with.
func mutantTrials(p *task.Package, o Options) []Trial {
	if o.Mutants <= 0 || p.OraclePath == "" {
		return nil
	}
	script, err := p.ReadText(p.OraclePath)
	if err != nil {
		return []Trial{{Name: string(ReferenceKind), Kind: ReferenceKind, Guard: Guarded, Moot: "the reference solution cannot be read: " + err.Error()}}
	}
	ref := Trial{Name: string(ReferenceKind), Kind: ReferenceKind, Guard: Guarded, Script: string(script)}
	mutants, err := Mutants(script, o.Seed, min(o.Mutants, MaxMutants))
	switch {
	case err != nil:
		ref.Moot = "no mutants can be made: " + err.Error()
	case len(mutants) == 0:
		ref.Moot = "no mutants can be made: the script holds nothing to leave out or change"
	}
	all := []Trial{ref}
	for i, m := range mutants {
		all = append(all, Trial{Name: fmt.Sprintf("%s-%02d", MutantKind, i+1), Kind: MutantKind, Guard: Guarded, Script: m.Text, Mutant: m})
	}
	return all
}
