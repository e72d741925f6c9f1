package controls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/posttrainarena/arena/gates/adversary"
	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/gates/task"
)

// foesDir is where the trials of adversaries are below the jobs root, beside the directories of the gates. No step of a
// plan names it, so what collects results passes it by.
const foesDir = "adversaries"

// The report's files, below the jobs root.
const (
	SoundnessJSON = foesDir + "/soundness.json"
	SoundnessText = foesDir + "/soundness.txt"
)

// foeAgent is who runs them, as results say.
const foeAgent = "adversary"

func foeDir(task, name string) string { return path.Join(foesDir, task, name) }

// agentUser is whom an attack is run as when the task does not say: the agent of an episode.
const agentUser = "2000"

// longestAttack bounds an attack: it only lays things out.
const longestAttack = 2 * time.Minute

// attacks reports whether the trial is an attack, and not a script in the place of the reference solution.
func (t trial) attacks() bool { return t.foe != nil && t.foe.Kind == adversary.AttackKind }

// prepare gives the agent what the harness gives it: its home, the working directory, and its own logs. $1 is the user.
const prepare = `mkdir -p /home/agent && chown "$1" /home/agent /logs/agent /logs/artifacts && { [ "$PWD" = / ] || chown -R "$1" "$PWD"; }`

// prepareKept gives it the folder of the reward too, as harnesses do that keep it.
const prepareKept = prepare + ` && chown "$1" /logs /logs/verifier`

// attack runs the attack's script as the agent's user. That parts of it fail is its own matter.
func (t trial) attack(ctx context.Context, id string, r *record) error {
	ready := prepare
	if t.foe.Guard == adversary.Kept {
		ready = prepareKept
	}
	out, err := t.engine.Exec(ctx, id, Command{Args: []string{"/bin/sh", "-c", ready, "sh", t.terms.user}, User: "0"})
	if err != nil {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("give the agent its directories: exit %d: %s", out.Code, cut(out.Stderr, 200))
	}
	limited, cancel := context.WithTimeout(ctx, min(t.terms.agent, longestAttack))
	defer cancel()
	out, err = t.engine.Exec(limited, id, Command{
		Args: []string{"/bin/sh", "-c", t.foe.Script}, User: t.terms.user, Env: []string{"HOME=/home/agent", "USER=agent"},
	})
	r.files["agent/attack.txt"] = append(append([]byte{}, out.Stdout...), out.Stderr...)
	if ctx.Err() == nil && limited.Err() != nil {
		return t.engine.Restart(ctx, id) // what it laid out so far is there
	}
	return err
}

// keptRoom makes room for the verifier alone: the folder of the reward stays as the agent left it.
const keptRoom = `rm -rf /verifier /tests && mkdir -p /logs/verifier`

func (t trial) room() string {
	if t.foe.Guard == adversary.Kept {
		return keptRoom
	}
	return fresh
}

// plainShell is shell without asking PATH, which may name directories of the agent's.
const plainShell = `for s in /bin/bash /usr/bin/bash /usr/local/bin/bash; do if [ -x $s ]; then exec $s "$0"; fi; done; exec /bin/sh "$0"`

// follow copies what stands where the reward belongs, links followed, as a harness reads it that keeps the folder.
const follow = `rm -rf /followed && mkdir /followed && { cp -L /logs/verifier/reward.txt /logs/verifier/reward.json /followed/ 2>/dev/null; : ; }`

// settle waits for what the attack left running, and says where the reward is to be read.
func (t trial) settle(ctx context.Context, id string) (from string, err error) {
	script, from := adversary.Settle, "/logs/verifier"
	if t.foe.Guard == adversary.Kept {
		script, from = follow, "/followed"
	}
	if t.foe.Name == adversary.Idle {
		return from, nil
	}
	out, err := t.engine.Exec(ctx, id, Command{Args: []string{"/bin/sh", "-c", script}, User: "0"})
	if err == nil && out.Code != 0 {
		err = fmt.Errorf("read what the attack came to: exit %d: %s", out.Code, cut(out.Stderr, 200))
	}
	return from, err
}

// foeMeaning is what an adversary's trial says to somebody who watches.
func (r result) foeMeaning(kind adversary.Kind) (what, detail string) {
	switch {
	case r.Rewards == nil && r.VerifierError != nil:
		what, detail = Passed, *r.VerifierError
	case r.Rewards == nil:
		return r.meaning(dynamic.Oracle)
	default:
		what, detail = Passed, fmt.Sprintf("reward %v", r.Rewards["reward"])
	}
	switch {
	case kind == adversary.AttackKind && r.scored():
		return Failed, "it got through: " + detail
	case kind == adversary.MutantKind && r.scored() && r.Rewards["reward"] >= 1:
		return Weak, "it passes: " + detail
	case kind == adversary.ReferenceKind && !(r.scored() && r.Rewards["reward"] >= 1):
		return Failed, detail
	default:
		return what, detail
	}
}

// tried is what a result says of an adversary's trial.
func (r result) tried() adversary.Record {
	var rec adversary.Record
	if r.Rewards != nil {
		reward := r.Rewards["reward"]
		rec.Reward = &reward
	}
	switch {
	case r.VerifierError != nil:
		rec.Problem = *r.VerifierError
	case r.Rewards == nil && r.Error != nil:
		rec.Lost = *r.Error
	case r.Rewards == nil:
		rec.Lost = "it left no reward"
	}
	return rec
}

// Soundness makes the report of what a jobs directory holds of the adversaries' trials on the tasks of a plan.
func Soundness(jobs *os.Root, p dynamic.Plan, packages []task.Package, o adversary.Options) (adversary.Report, error) {
	rep := adversary.Report{SchemaVersion: adversary.SchemaVersion, PlanDigest: p.Digest, Options: o, Tasks: []adversary.Task{}}
	byName := map[string]*task.Package{}
	for i := range packages {
		byName[packages[i].Name] = &packages[i]
	}
	for _, planned := range p.Tasks {
		pkg := byName[planned.Name]
		if pkg == nil {
			return rep, fmt.Errorf("report on the adversaries: the directory has no task %s", planned.Name)
		}
		trials, records := adversary.Plan(pkg, o), map[string]adversary.Record{}
		for _, t := range trials {
			r, have, err := finished(jobs, planned.Name, foeDir(planned.Name, t.Name), t.Digest, foeAgent)
			if err != nil {
				return rep, err
			}
			if have {
				records[t.Name] = r.tried()
			}
		}
		rep.Tasks = append(rep.Tasks, adversary.Judge(planned.Name, trials, records))
	}
	return rep, nil
}

// keepSoundness writes the report into the jobs directory.
func keepSoundness(jobs *os.Root, p dynamic.Plan, packages []task.Package, o adversary.Options) error {
	rep, err := Soundness(jobs, p, packages, o)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report on the adversaries: %w", err)
	}
	if err := jobs.Mkdir(foesDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write the report on the adversaries: %w", err)
	}
	for name, content := range map[string]string{SoundnessJSON: string(raw), SoundnessText: strings.Join(rep.Lines(), "\n")} {
		if err := jobs.WriteFile(name, []byte(content+"\n"), 0o644); err != nil {
			return fmt.Errorf("write the report on the adversaries: %w", err)
		}
	}
	return nil
}
