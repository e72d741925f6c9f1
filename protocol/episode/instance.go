package episode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
)

// The two types of datasets (seed 001).
const (
	OpenSourceCode = "opensource-code" // a git repository to repair
	TerminalBench  = "terminal_bench"  // a machine to work on; no git, no tests in sight
)

// Instance is the instance file: what a task's image says about its task. It is
// JSON, at /opt/arena/instance.json, and nobody but root can read it.
type Instance struct {
	TaskID      string `json:"task_id"`
	DatasetType string `json:"dataset_type"` // OpenSourceCode or TerminalBench
	Instruction string `json:"instruction"`  // what a reset tells the agent; may be empty
	Workdir     string `json:"workdir"`      // where the shell starts; the agent owns it. For opensource-code the repository

	// Verifier is the command that grades, run in Workdir as the agent's user. The
	// directory tests beside the instance file is shown to it as /tests.
	Verifier []string `json:"verifier"`
	// Reward says where the verifier leaves its word: "exit" (0 is a reward of 1,
	// anything else 0; the default for opensource-code) or "file" (the number in
	// /logs/verifier/reward.txt, if it also exits 0; the default for
	// terminal_bench).
	Reward string `json:"reward"`
	// Guard names what the agent must leave as it was, or the reward is 0: a name
	// (sitecustomize.py) anywhere, or an absolute path with all that is below it.
	// Patterns as in path.Match. DefaultGuard when absent.
	Guard []string `json:"guard"`

	ShellSeconds  int `json:"shell_seconds"`  // one command; 600 when 0, at most 1800
	VerifySeconds int `json:"verify_seconds"` // grading; 900 when 0, at most 1800
}

// DefaultGuard is guarded when an instance does not say: what Python and pytest
// load without being asked to.
func DefaultGuard() []string {
	return []string{"sitecustomize.py", "usercustomize.py", "conftest.py", "pytest.ini", "*.pth"}
}

// maxSeconds bounds what one message may take; a checker waits 1,850 seconds.
const maxSeconds = 1800

// ParseInstance reads an instance file and fills in what it leaves out.
func ParseInstance(data []byte) (Instance, error) {
	var i Instance
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&i); err != nil {
		return Instance{}, fmt.Errorf("instance file: %w", err)
	}
	wrong := func(format string, args ...any) (Instance, error) {
		return Instance{}, fmt.Errorf("instance file: "+format, args...)
	}
	if i.TaskID == "" || len(i.TaskID) > 255 {
		return wrong("task_id is missing, or longer than 255 bytes")
	}
	if i.Reward == "" {
		i.Reward = map[string]string{OpenSourceCode: "exit", TerminalBench: "file"}[i.DatasetType]
	}
	if i.DatasetType != OpenSourceCode && i.DatasetType != TerminalBench {
		return wrong("dataset_type is %q; it is %s or %s", i.DatasetType, OpenSourceCode, TerminalBench)
	}
	if i.Reward != "exit" && i.Reward != "file" {
		return wrong("reward is %q; it is exit or file", i.Reward)
	}
	if len(i.Verifier) == 0 || i.Verifier[0] == "" {
		return wrong("verifier names no command")
	}
	if !path.IsAbs(i.Workdir) || path.Clean(i.Workdir) != i.Workdir || strings.Count(i.Workdir, "/") < 1 || i.Workdir == "/" {
		return wrong("workdir is %q; it is a clean absolute path below /", i.Workdir)
	}
	for _, system := range []string{"/proc", "/sys", "/dev", "/opt/arena", "/etc", "/bin", "/lib", "/usr/bin", "/usr/lib"} {
		if i.Workdir == system || strings.HasPrefix(i.Workdir, system+"/") || strings.HasPrefix(system, i.Workdir+"/") && system == "/opt/arena" {
			return wrong("workdir is %q, which is the system's or the server's; the agent owns its workdir", i.Workdir)
		}
	}
	if i.Guard == nil {
		i.Guard = DefaultGuard()
	}
	for _, g := range i.Guard {
		if _, err := path.Match(g, ""); err != nil || g == "" || strings.Contains(g, "/") && !path.IsAbs(g) {
			return wrong("guard %q is neither a name nor an absolute path, or a broken pattern", g)
		}
	}
	for _, s := range []struct {
		name  string
		value *int
		usual int
	}{{"shell_seconds", &i.ShellSeconds, 600}, {"verify_seconds", &i.VerifySeconds, 900}} {
		if *s.value == 0 {
			*s.value = s.usual
		}
		if *s.value < 1 || *s.value > maxSeconds {
			return wrong("%s is %d; it is 1 to %d", s.name, *s.value, maxSeconds)
		}
	}
	return i, nil
}

// guards reports whether a path is one that the agent must leave alone.
func (i Instance) guards(name string) bool {
	for _, g := range i.Guard {
		if !strings.Contains(g, "/") {
			if ok, _ := path.Match(g, path.Base(name)); ok {
				return true
			}
			continue
		}
		// A guarded directory guards what is below it.
		for p := name; p != "/" && p != "."; p = path.Dir(p) {
			if ok, _ := path.Match(g, p); ok {
				return true
			}
		}
	}
	return false
}

func (i Instance) shellTime() time.Duration  { return time.Duration(i.ShellSeconds) * time.Second }
func (i Instance) verifyTime() time.Duration { return time.Duration(i.VerifySeconds) * time.Second }
