package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posttrainarena/arena/protocol/engine"
	"github.com/posttrainarena/arena/protocol/episode"
)

// The seed's container and its patience.
const (
	port         = 8000
	cpus         = 2
	memory       = 16 << 30
	healthWithin = 120 * time.Second
	healthEvery  = time.Second
	healthTry    = 2 * time.Second
	logTail      = 6000 // characters
)

// Label marks the containers that Run starts.
const Label = "org.posttrainarena.episode-check"

// Options says what to check, and with what.
type Options struct {
	Image       string // checked in a container of its own, or
	URL         string // a server that is running already: "http://127.0.0.1:8000"
	TaskID      string
	DatasetType string // episode.OpenSourceCode or episode.TerminalBench
	Solution    []byte // a Python script that solves the task; nil leaves its checks out
	Probes      Probes

	Engine *engine.Engine // of an image; not needed for a URL
	HTTP   *http.Client
	Now    func() time.Time
	Within time.Duration      // how long the server may take to be healthy; 120 s when 0
	Tell   func(label string) // called before each check; may be nil
}

// Run makes the checks. The report is complete whatever happened; its Failed says
// which check does not hold. An error means that the checks could not be made: no
// engine, no such image, a task without a probe, an interrupt.
func Run(ctx context.Context, o Options) (report Report, err error) {
	report = Report{Image: o.Image, URL: o.URL, TaskID: o.TaskID, DatasetType: o.DatasetType, Checks: []string{}, Timings: []Timing{}}
	terminal := o.DatasetType == episode.TerminalBench
	task := o.Probes[o.TaskID]
	if !terminal && o.DatasetType != episode.OpenSourceCode {
		return report, fmt.Errorf("dataset type %q is neither %s nor %s", o.DatasetType, episode.OpenSourceCode, episode.TerminalBench)
	}
	if terminal && task.Module == "" {
		return report, fmt.Errorf("no probe says which module of task %q to break; write [tasks.%q] with module = \"/app/…\" into a file and name it with --probes", o.TaskID, o.TaskID)
	}
	if task.Tamper == "" {
		task.Tamper = "/app/sitecustomize.py"
	}
	if o.Within == 0 {
		o.Within = healthWithin
	}
	r := &replay{options: o, task: task, report: &report, url: strings.TrimSuffix(o.URL, "/")}
	if o.Image != "" {
		// Cleaning up must not depend on whether the replay was interrupted.
		outlive := context.WithoutCancel(ctx)
		defer func() { err = errors.Join(err, r.close(outlive)) }()
		if err := r.start(ctx); err != nil {
			return report, err
		}
	}
	r.run(ctx)
	if r.session.conn != nil {
		_ = r.session.conn.CloseNow()
	}
	if ctx.Err() != nil {
		return report, context.Cause(ctx)
	}
	report.Passed = report.Failed == nil
	return report, nil
}

// replay is one run of the checks.
type replay struct {
	options   Options
	task      Task
	report    *Report
	url       string
	container string // empty for a URL
	session   session
	negative  observed // the first terminal answer
}

// start runs the image as the seed does. A container that ends at once is not an
// error here: the first check finds nobody to talk to.
func (r *replay) start(ctx context.Context) error {
	e := r.options.Engine
	id, err := e.Create(ctx, engine.Spec{
		Image: r.options.Image, Network: true, Ports: []uint16{port}, Memory: memory, CPUs: float64(min(cpus, runtime.NumCPU())),
		Labels: map[string]string{Label: r.options.TaskID},
	})
	if errors.Is(err, engine.ErrMissing) {
		return fmt.Errorf("%w; build or load the image first, nothing is pulled", err)
	}
	if err != nil {
		return err
	}
	r.container = id
	return e.Start(ctx, id)
}

// close keeps the container's log and removes the container.
func (r *replay) close(ctx context.Context) error {
	if r.container == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	e := r.options.Engine
	out, err := e.Logs(ctx, r.container, 4*logTail)
	if text := []rune(strings.ToValidUTF8(string(out.Stderr), string(utf8.RuneError))); err == nil {
		r.report.ContainerLogs = string(text[max(0, len(text)-logTail):])
	}
	return errors.Join(err, e.Remove(ctx, r.container))
}

// check is one check: its label, and why it does not hold ("" when it does).
type check struct {
	label string
	try   func(ctx context.Context) (why string, err error)
}

// errSkip leaves a check out.
var errSkip = errors.New("only to be seen from inside the container")

// run makes the checks in order and stops at the first that does not hold.
func (r *replay) run(ctx context.Context) {
	for _, c := range r.checks() {
		if r.options.Tell != nil {
			r.options.Tell(c.label)
		}
		why, err := c.try(ctx)
		switch {
		case errors.Is(err, errSkip):
			r.report.Skipped = append(r.report.Skipped, Skip{Check: c.label, Reason: err.Error()})
			continue
		case err != nil:
			why = err.Error()
		}
		if why != "" {
			r.report.Failed = &Failure{Check: c.label, Reason: why}
			return
		}
		r.report.Checks = append(r.report.Checks, c.label)
	}
}

// checks is the seed's list.
func (r *replay) checks() []check {
	terminal := r.options.DatasetType == episode.TerminalBench
	list := []check{
		{Health, r.health}, {Validation, r.validate}, {Identity, r.identity}, {Unprivileged, r.unprivileged}, {NoFuture, r.noFuture},
	}
	if terminal {
		list = append(list, check{TestsAbsent, r.testsAbsent})
	}
	list = append(list, check{UnsolvedZero, r.unsolved}, check{Stable, r.stable}, check{ResetRemoves, r.resetRemoves})
	if terminal {
		list = append(list, check{SyntaxApplied, r.breakModule}, check{SyntaxZero, r.syntaxZero})
	} else {
		list = append(list, check{HooksUnprivd, r.hooks})
	}
	for _, p := range r.task.Probe {
		list = append(list, check{p.Label, func(ctx context.Context) (string, error) { return r.probe(ctx, p) }})
	}
	if r.options.Solution != nil {
		list = append(list, check{RepairApplied, r.repairApplied}, check{ReferenceOne, r.referenceOne})
		if terminal {
			list = append(list, check{TestsRemoved, r.testsRemoved}, check{RepairReapplied, r.repair}, check{TamperRejected, r.tamper})
		}
	}
	return append(list, check{RestoresUnsolved, r.restores})
}

func (r *replay) reset(ctx context.Context) (observed, error) {
	return r.session.call(ctx, "reset", map[string]any{"task_id": r.options.TaskID})
}

func (r *replay) shell(ctx context.Context, command string) (observed, error) {
	return r.session.call(ctx, "step", map[string]any{"operation": "shell", "command": command})
}

func (r *replay) finish(ctx context.Context) (observed, error) {
	o, err := r.session.call(ctx, "step", map[string]any{"operation": "finish"})
	if err == nil && r.container != "" {
		s, err := r.options.Engine.Stats(ctx, r.container)
		if err != nil {
			return o, err
		}
		r.report.PeakWritableBytes = max(r.report.PeakWritableBytes, s.WritableBytes)
		r.report.PeakMemoryBytes = max(r.report.PeakMemoryBytes, s.PeakMemory)
	}
	return o, err
}

// succeeds runs a command that must succeed.
func (r *replay) succeeds(ctx context.Context, command string) (string, error) {
	o, err := r.shell(ctx, command)
	if err != nil {
		return "", err
	}
	return unless(o.exited(0), "%s: %s", command, o), nil
}

func unless(holds bool, format string, args ...any) string {
	if holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func (r *replay) health(ctx context.Context) (string, error) {
	began := r.options.Now()
	why := "nothing was tried"
	for r.options.Now().Sub(began) < r.options.Within {
		if why = r.healthOnce(ctx); why == "" {
			r.report.ReadySeconds = seconds(r.options.Now().Sub(began))
			return "", nil
		}
		select {
		case <-time.After(healthEvery):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return fmt.Sprintf("not healthy within %s; the last try: %s", r.options.Within, why), nil
}

// healthOnce asks once. The container's address is asked for anew each time: one
// that has ended has none.
func (r *replay) healthOnce(ctx context.Context) string {
	if r.container != "" {
		address, err := r.options.Engine.Address(ctx, r.container, port)
		if err != nil {
			return err.Error()
		}
		r.url = "http://" + address
	}
	_, why := fetch(ctx, r.options.HTTP, http.MethodGet, r.url+"/health", "", healthTry)
	return why
}

func (r *replay) validate(ctx context.Context) (string, error) {
	schema, why := fetch(ctx, r.options.HTTP, http.MethodGet, r.url+"/schema", "", 2*criterionTime)
	if why != "" {
		return "/schema: " + why, nil
	}
	if !json.Valid(schema) {
		return "/schema: the answer is no JSON", nil
	}
	r.report.Schema = schema
	v := Validate(ctx, r.options.HTTP, r.url)
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", err
	}
	r.report.Validation = string(text) + "\n"
	for _, c := range v.Criteria {
		if !c.Passed {
			return c.ID + ": " + c.Details, nil
		}
	}
	return "", nil
}

func (r *replay) identity(ctx context.Context) (string, error) {
	conn, err := dial(ctx, r.options.HTTP, r.url)
	if err != nil {
		return "", err
	}
	r.session = session{conn: conn, now: r.options.Now, timings: &r.report.Timings}
	o, err := r.reset(ctx)
	if err != nil {
		return "", err
	}
	return unless(o.data.Observation.TaskID == r.options.TaskID && !o.data.Done, "reset: %s", o), nil
}

func (r *replay) unprivileged(ctx context.Context) (string, error) {
	return r.succeeds(ctx, "test $(id -u) = 2000 && test ! -r /opt/arena/instance.json && test ! -w /opt/arena/server.py")
}

func (r *replay) noFuture(ctx context.Context) (string, error) {
	command := "git rev-list --all --not HEAD"
	if r.options.DatasetType == episode.TerminalBench {
		command = "find /app -name .git -print"
	}
	o, err := r.shell(ctx, command)
	if err != nil {
		return "", err
	}
	return unless(o.exited(0) && strings.TrimSpace(o.data.Observation.Output) == "", "%s: %s", command, o), nil
}

func (r *replay) testsAbsent(ctx context.Context) (string, error) {
	return r.succeeds(ctx, "test ! -e /tests && test ! -e /logs/verifier && test ! -w /")
}

func (r *replay) unsolved(ctx context.Context) (string, error) {
	o, err := r.finish(ctx)
	if err != nil {
		return "", err
	}
	r.negative, r.report.Unsolved = o, o.raw
	return unless(o.earned(0), "finish: %s", o), nil
}

func (r *replay) stable(ctx context.Context) (string, error) {
	o, err := r.finish(ctx)
	if err != nil {
		return "", err
	}
	return unless(o.same(r.negative), "first %s, then %s", r.negative, o), nil
}

func (r *replay) resetRemoves(ctx context.Context) (string, error) {
	if _, err := r.reset(ctx); err != nil {
		return "", err
	}
	o, err := r.shell(ctx, "printf changed > .arena-reset-marker")
	if err != nil {
		return "", err
	}
	if !o.exited(0) {
		return "the shell's directory cannot be written to: " + o.String(), nil
	}
	if _, err := r.reset(ctx); err != nil {
		return "", err
	}
	return r.succeeds(ctx, "test ! -e .arena-reset-marker")
}

// hooks looks whether the verifier honours the repository's configuration, and
// with whose rights.
func (r *replay) hooks(ctx context.Context) (string, error) {
	if _, err := r.shell(ctx, `git config core.fsmonitor "sh -c 'id -u > /tmp/arena-git-hook-uid'"`); err != nil {
		return "", err
	}
	if _, err := r.finish(ctx); err != nil {
		return "", err
	}
	if r.container == "" {
		_, err := r.reset(ctx)
		return "", errors.Join(err, errSkip)
	}
	code, out, err := r.options.Engine.Exec(ctx, r.container, engine.Command{Args: []string{"cat", "/tmp/arena-git-hook-uid"}, Limit: 1000})
	if err != nil {
		return "", err
	}
	if uid := strings.TrimSpace(string(out.Stdout)); code != 0 || uid != "2000" {
		return fmt.Sprintf("the hook's user is %q, not 2000 (%s)", uid, strings.TrimSpace(string(out.Stderr))), nil
	}
	_, err = r.reset(ctx)
	return "", err
}

func (r *replay) breakModule(ctx context.Context) (string, error) {
	return r.succeeds(ctx, "printf 'invalid python :::\\n' > "+quote(r.task.Module))
}

// quote makes a word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

func (r *replay) syntaxZero(ctx context.Context) (string, error) {
	o, err := r.finish(ctx)
	if err != nil {
		return "", err
	}
	r.report.SyntaxError = o.raw
	if !o.earned(0) {
		return "finish: " + o.String(), nil
	}
	_, err = r.reset(ctx)
	return "", err
}

// probe plays one of the task's own probes and leaves a fresh reset behind.
func (r *replay) probe(ctx context.Context, p Probe) (string, error) {
	o, err := r.shell(ctx, p.Command)
	if err != nil {
		return "", err
	}
	if !o.exited(p.ExitCode) {
		return fmt.Sprintf("the command's exit code should be %d: %s", p.ExitCode, o), nil
	}
	if p.Reward != nil {
		if o, err = r.finish(ctx); err != nil {
			return "", err
		}
		if !o.earned(*p.Reward) {
			return fmt.Sprintf("the reward should be %g: %s", *p.Reward, o), nil
		}
	}
	_, err = r.reset(ctx)
	return "", err
}

// apply sends the reference solution through the agent's shell.
func (r *replay) apply(ctx context.Context) (observed, error) {
	return r.shell(ctx, "python3 - <<'ARENA_REPAIR'\n"+string(r.options.Solution)+"\nARENA_REPAIR")
}

func (r *replay) repairApplied(ctx context.Context) (string, error) {
	o, err := r.apply(ctx)
	if err != nil {
		return "", err
	}
	r.report.Action = o.raw
	return unless(o.exited(0), "the solution: %s", o), nil
}

func (r *replay) referenceOne(ctx context.Context) (string, error) {
	o, err := r.finish(ctx)
	if err != nil {
		return "", err
	}
	r.report.Reference = o.raw
	return unless(o.earned(1), "finish: %s", o), nil
}

func (r *replay) testsRemoved(ctx context.Context) (string, error) {
	if r.container == "" {
		return "", errSkip
	}
	code, _, err := r.options.Engine.Exec(ctx, r.container, engine.Command{Args: []string{"sh", "-c", "test ! -e /tests && test ! -e /logs/verifier"}})
	if err != nil {
		return "", err
	}
	return unless(code == 0, "/tests or /logs/verifier is still there after grading"), nil
}

func (r *replay) repair(ctx context.Context) (string, error) {
	if _, err := r.reset(ctx); err != nil {
		return "", err
	}
	o, err := r.apply(ctx)
	if err != nil {
		return "", err
	}
	return unless(o.exited(0), "the solution: %s", o), nil
}

func (r *replay) tamper(ctx context.Context) (string, error) {
	o, err := r.shell(ctx, "printf '# tamper probe\\n' > "+quote(r.task.Tamper))
	if err != nil {
		return "", err
	}
	if !o.exited(0) {
		return "the probe could not be written: " + o.String(), nil
	}
	if o, err = r.finish(ctx); err != nil {
		return "", err
	}
	return unless(o.earned(0), "finish: %s", o), nil
}

func (r *replay) restores(ctx context.Context) (string, error) {
	if _, err := r.reset(ctx); err != nil {
		return "", err
	}
	o, err := r.finish(ctx)
	if err != nil {
		return "", err
	}
	return unless(o.earned(0), "finish: %s", o), nil
}
