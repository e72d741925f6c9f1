package controls

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/posttrainarena/arena/gates/adversary"
	"github.com/posttrainarena/arena/gates/dynamic"
	"github.com/posttrainarena/arena/gates/task"
)

// The bounds of what is read back of a trial.
const (
	maxVerifierTar = 16 << 20
	maxVerifier    = 4 << 20 // bytes of one file
)

// shell runs a script with bash, as the harness does, or with sh where the image has no bash.
const shell = `if command -v bash >/dev/null 2>&1; then exec bash "$0"; fi; exec sh "$0"`

// fresh takes away what stands where the verifier and its output belong. The agent may have put anything there.
const fresh = `rm -rf /logs/verifier /verifier /tests && mkdir -p /logs/verifier && chmod 755 /logs/verifier`

// trial runs one step in a container of its own.
type trial struct {
	engine Engine
	pkg    *task.Package
	terms  terms
	task   dynamic.Planned
	step   dynamic.Step
	foe    *adversary.Trial // what is tried instead of a control; nil for one
	image  string
	labels map[string]string
	now    func() time.Time
	digest string // of what is run, for the journal
	agent  string // who runs it, likewise
}

// run runs the trial. The error is that of a context that ended; everything else is in the record.
func (t trial) run(ctx context.Context) (record, error) {
	began := t.now()
	r := record{files: map[string][]byte{}, result: t.blank(began)}
	err := t.phases(ctx, &r)
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if err != nil {
		r.result.fault(err)
	}
	ended := t.now()
	r.result.FinishedAt = harnessTime(ended)
	r.result.Timing["total"] = tenths(ended.Sub(began))
	return r, nil
}

func (t trial) blank(now time.Time) result {
	return result{
		TaskName: t.task.Name, Agent: t.agent, StartedAt: harnessTime(now), Timing: map[string]float64{}, TaskDigest: t.digest, Harness: runner,
	}
}

// fault notes that the engine or this machine failed.
func (r *result) fault(err error) {
	text, kind := "Sandbox failed: "+err.Error(), "infra_failure"
	r.Rewards, r.Error, r.Category, r.VerifierError, r.VerifierKind = nil, &text, &kind, nil, nil
}

// harnessTime is local time in the harness's form.
func harnessTime(t time.Time) string { return t.Format("2006-01-02 15:04:05.000000") }

func tenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }

// phase runs one phase and notes how long it took.
func (t trial) phase(r *record, name string, do func() error) error {
	began := t.now()
	err := do()
	if err == nil {
		r.result.Timing[name] = tenths(t.now().Sub(began))
	}
	return err
}

func (t trial) phases(ctx context.Context, r *record) (err error) {
	var id string
	err = t.phase(r, "environment_setup", func() error {
		id, err = t.engine.Start(ctx, ContainerSpec{Image: t.image, Labels: t.labels, Limits: t.terms.limits})
		if err != nil {
			return err
		}
		return t.place(ctx, id)
	})
	if id != "" {
		defer func() {
			// Also when ctx has ended: nothing of the trial may stay.
			err = errors.Join(err, t.engine.Remove(context.WithoutCancel(ctx), id))
		}()
	}
	if err != nil {
		return err
	}
	work := t.solve
	if t.attacks() {
		work = t.attack
	}
	if err := t.phase(r, "agent_execution", func() error { return work(ctx, id, r) }); err != nil {
		return err
	}
	return t.phase(r, "verifier", func() error { return t.grade(ctx, id, r) })
}

// oracleDir is where the reference solution is in the container.
func (t trial) oracleDir() string { return path.Dir(t.task.OraclePath) }

// place puts what the harness puts into a sandbox.
func (t trial) place(ctx context.Context, id string) error {
	k := newPacker(t.pkg)
	for _, dir := range []string{"logs/agent", "logs/verifier", "logs/artifacts"} {
		if err := k.dir(dir); err != nil {
			return err
		}
	}
	if err := k.text("instruction.md", t.pkg.Prompt, false); err != nil {
		return err
	}
	var replaced map[string]string
	switch {
	case t.foe != nil:
		replaced = map[string]string{t.task.OraclePath: t.foe.Script}
	case t.step.Gate == dynamic.Noop:
		replaced = map[string]string{t.task.OraclePath: dynamic.NoopScript}
	}
	if !t.attacks() { // an agent cannot read the solution
		if err := k.directory(t.oracleDir(), t.oracleDir(), replaced); err != nil {
			return err
		}
	}
	files, err := k.done()
	if err != nil {
		return err
	}
	return t.engine.CopyTo(ctx, id, "/", files)
}

// solve runs the script. That it fails is not yet a verdict: the verifier decides.
func (t trial) solve(ctx context.Context, id string, r *record) error {
	script := "/" + t.task.OraclePath
	limited, cancel := context.WithTimeout(ctx, t.terms.agent)
	defer cancel()
	out, err := t.engine.Exec(limited, id, Command{Args: []string{"sh", "-c", shell, script}, User: "0", Env: t.terms.oracle})
	r.files["agent/oracle.txt"] = append(append([]byte{}, out.Stdout...), out.Stderr...)
	event := map[string]any{"type": "oracle", "command": "bash " + script, "return_code": out.Code, "stdout": cut(out.Stdout, 2000)}
	if ctx.Err() == nil && limited.Err() != nil {
		text, kind := fmt.Sprintf("Agent prompt exceeded wall-clock budget %gs", t.terms.agent.Seconds()), "timeout"
		r.result.Error, r.result.Category, r.result.AgentTimeout = &text, &kind, &limitInfo{t.terms.agent.Seconds()}
		event["return_code"] = nil
		err = t.engine.Restart(ctx, id) // the script is still there
	}
	if raw, e := json.Marshal(event); e == nil {
		r.files["trajectory/acp_trajectory.jsonl"] = raw
	}
	return err
}

// cut is the beginning of a text, as valid UTF-8.
func cut(b []byte, limit int) string {
	return strings.ToValidUTF8(string(b[:min(len(b), limit)]), "\ufffd")
}

// grade runs the verifier and reads the reward.
func (t trial) grade(ctx context.Context, id string, r *record) error {
	clear, run := fresh, []string{"sh", "-c", shell}
	if t.attacks() {
		// By full paths: the runner of the verifier is not what is attacked.
		clear, run = t.room(), []string{"/bin/sh", "-c", plainShell}
	}
	out, err := t.engine.Exec(ctx, id, Command{Args: []string{run[0], "-c", clear}, User: "0"})
	if err != nil {
		return err
	}
	if out.Code != 0 {
		return fmt.Errorf("make room for the verifier: exit %d: %s", out.Code, cut(out.Stderr, 200))
	}
	dir := t.pkg.VerifierDir
	if dir == "" {
		return t.spoilt(r, "verifier crashed: the package has neither verifier/ nor tests/", "verifier_failure")
	}
	// Both names are there, whichever the package uses.
	k := newPacker(t.pkg)
	for _, to := range []string{"verifier", "tests"} {
		if err := k.directory(dir, to, nil); err != nil {
			return err
		}
	}
	files, err := k.done()
	if err != nil {
		return err
	}
	if err := t.engine.CopyTo(ctx, id, "/", files); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, t.terms.verifier)
	defer cancel()
	out, err = t.engine.Exec(limited, id, Command{Args: append(run, "/"+dir+"/test.sh"), User: "0", Env: append([]string{
		"BENCHFLOW_VERIFIER_DIR=/" + dir, "BENCHFLOW_REWARD_TEXT=/logs/verifier/reward.txt", "BENCHFLOW_REWARD_JSON=/logs/verifier/reward.json",
		"BENCHFLOW_REWARD_DETAILS_JSON=/logs/verifier/reward-details.json", "BENCHFLOW_CTRF_JSON=/logs/verifier/ctrf.json",
	}, t.terms.checks...)})
	r.files["verifier/test-stdout.txt"], r.files["verifier/test-stderr.txt"] = out.Stdout, out.Stderr
	if ctx.Err() == nil && limited.Err() != nil {
		r.result.VerifyTimeout = &limitInfo{t.terms.verifier.Seconds()}
		return t.spoilt(r, fmt.Sprintf("verifier timed out after %gs", t.terms.verifier.Seconds()), "verifier_timeout")
	}
	if err != nil {
		return err
	}
	from := "/logs/verifier"
	if t.attacks() {
		if from, err = t.settle(ctx, id); err != nil {
			return err
		}
	}
	if err := t.fetch(ctx, id, from, r); err != nil {
		return err
	}
	reward, problem := t.reward(r.files)
	if problem != "" {
		return t.spoilt(r, fmt.Sprintf("verifier crashed: %s (test.sh ended with exit %d)", problem, out.Code), "verifier_failure")
	}
	r.result.Rewards = map[string]float64{"reward": reward}
	return nil
}

// spoilt notes that the verifier did not give a reward, which is the task's doing.
func (t trial) spoilt(r *record, text, kind string) error {
	r.result.VerifierError, r.result.VerifierKind = &text, &kind
	return nil
}

// kept are the files of /logs/verifier that are read back.
func kept(name string) bool {
	switch name {
	case "reward.txt", "reward.json", "reward-details.json", "ctrf.json":
		return true
	default:
		return false
	}
}

// fetch reads what the verifier wrote. Only regular files count: a link could point at a file of the agent's.
func (t trial) fetch(ctx context.Context, id, from string, r *record) error {
	stream, err := t.engine.CopyFrom(ctx, id, from, maxVerifierTar)
	if errors.Is(err, ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	for files := tar.NewReader(stream); ; {
		h, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read /logs/verifier: %w", err)
		}
		name := strings.TrimPrefix(path.Clean(h.Name), path.Base(from)+"/")
		if h.Typeflag != tar.TypeReg || !kept(name) || h.Size > maxVerifier {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return fmt.Errorf("read /logs/verifier/%s: %w", name, err)
		}
		r.files["verifier/"+name] = content
	}
}

// reward reads the reward as the harness does (reference/pipeline.md §1.6): reward.json first, and both files must
// agree where both are there.
func (t trial) reward(files map[string][]byte) (value float64, problem string) {
	var all []float64
	if raw, ok := files["verifier/reward.json"]; ok {
		var o struct{ Reward *float64 }
		if err := json.Unmarshal(raw, &o); err != nil || o.Reward == nil {
			return 0, "reward.json holds no reward"
		}
		all = append(all, *o.Reward)
	}
	if raw, ok := files["verifier/reward.txt"]; ok {
		n, err := strconv.ParseFloat(strings.TrimSpace(string(raw)), 64)
		if err != nil {
			return 0, fmt.Sprintf("reward.txt holds %q, which is no number", cut(raw, 40))
		}
		all = append(all, n)
	}
	switch {
	case len(all) == 0:
		return 0, "it left no reward file"
	case len(all) == 2 && !(math.Abs(all[0]-all[1]) <= 1e-9):
		return 0, fmt.Sprintf("reward.json says %v and reward.txt %v", all[0], all[1])
	case !(all[0] >= t.terms.low && all[0] <= t.terms.high): // NaN too
		return 0, fmt.Sprintf("the reward %v is not from %v to %v", all[0], t.terms.low, t.terms.high)
	default:
		return all[0], ""
	}
}
