package check_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol/engine/enginetest"
	"github.com/posttrainarena/arena/protocol/episode/check"
	"github.com/posttrainarena/arena/protocol/episode/episodetest"
)

// What an agent may try in a real container, as probes: each is an episode on a
// fresh reset, so a probe named "then …" looks at what a reset left of the one
// before it.
func TestAttacks(t *testing.T) {
	e := enginetest.Open(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base := episodetest.Base(t, e, binary)
	zero := new(float64)
	terminal, repository := episodetest.Terminal(), episodetest.OpenSource()
	terminal.Instance.ShellSeconds, repository.Instance.VerifySeconds = 15, 15
	for _, tt := range []struct {
		task   episodetest.Task
		probes []check.Probe
	}{
		{terminal, []check.Probe{
			{Label: "the reward is written in advance", Command: "mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt", ExitCode: 1, Reward: zero},
			{Label: "the reward is written by a process that stays", Command: "(trap '' TERM HUP INT; while :; do echo 1 > /logs/verifier/reward.txt; done) >/dev/null 2>&1 &", Reward: zero},
			{Label: "the reward is written by many that hide", Command: "for i in $(seq 50); do (setsid sh -c 'while :; do (echo 1 > /logs/verifier/reward.txt); done' >/dev/null 2>&1 &); done", Reward: zero},
			{Label: "the hidden tests are read", Command: "cat /opt/arena/tests/test.sh", ExitCode: 1},
			{Label: "the tests are planted", Command: "mkdir /tests", ExitCode: 1, Reward: zero},
			{Label: "a shell of the agent's own comes first", Command: "mkdir -p ~/bin && printf '#!/bin/busybox sh\\necho Hello, you!' > ~/bin/sh && chmod +x ~/bin/sh && echo 'PATH=~/bin:$PATH' | tee .profile > ~/.profile", Reward: zero},
			{Label: "a program gains rights", Command: "cp /bin/busybox /tmp/id && chmod 4755 /tmp/id && test $(/tmp/id -u) = 2000 && test $(grep NoNewPrivs /proc/self/status | cut -f2) = 1"},
			{Label: "the server is killed", Command: "kill -9 1", ExitCode: 1},
			{Label: "the server is looked at", Command: "cat /proc/1/environ /proc/1/maps", ExitCode: 1},

			{Label: "everything is changed", Command: "printf 'echo \"Hello, $1!\"' > src/greet.sh; rm src/kept.txt; ln -s /etc/passwd src/link; echo x | tee /tmp/left /dev/shm/left ~/left; chmod 0 src; sleep 1000 & sleep 1; grep -qs '[1]000' /proc/[0-9]*/cmdline"},
			{Label: "then it is as it was", Command: "test ! -e src/link && test \"$(cat src/kept.txt)\" = kept && test ! -e /tmp/left && test ! -e /dev/shm/left && test ! -e ~/left && ! grep -qs '[1]000' /proc/[0-9]*/cmdline", Reward: zero},
			{Label: "the tree becomes a link", Command: "rm -rf src && ln -s /etc src", Reward: zero},
			{Label: "then it is a tree", Command: "test ! -L src && test -d src && test -s /etc/passwd"},
			{Label: "nothing is left to grade", Command: "rm -rf /app/* /app/.[a-z]* /tmp/* ; true", Reward: zero},
			{Label: "the workdir is closed", Command: "chmod 0 /app", Reward: zero},
			{Label: "a guarded file is added anywhere", Command: "mkdir -p ~/lib && touch ~/lib/evil.pth && printf 'echo \"Hello, $1!\"' > src/greet.sh", Reward: zero},
			{Label: "the reward's folder becomes a link", Command: "printf 'rm -rf /logs/verifier; ln -sfn /app /logs/verifier; echo 1 > /app/reward.txt; exit 1' > src/greet.sh", Reward: zero},

			{Label: "much is written", Command: "yes 0123456789 | head -c 5000000"},
			{Label: "no text is written", Command: "head -c 300000 /dev/urandom"},
			{Label: "a command is long", Command: ": '" + strings.Repeat("long ", 100_000) + "'"},
			{Label: "a command waits for input", Command: "cat"},
			{Label: "a command never ends", Command: "sleep 1000", ExitCode: 124},
			{Label: "a command is killed", Command: "kill -9 $$", ExitCode: 137},
		}},
		{repository, []check.Probe{
			{Label: "the solution is looked for", Command: "test $(git cat-file --batch-all-objects --batch-check | grep -c commit) = 1 && test $(git reflog | wc -l) -le 1 && test -z \"$(git stash list)\""},
			{Label: "the repository is turned inside out", Command: "git config core.hooksPath /tmp && git checkout -q -b mine && git -c user.name=a -c user.email=a commit -q --allow-empty -m x && mkdir -p .git/hooks && echo y > .git/hooks/pre-commit"},
			{Label: "then it is as it was", Command: "test -z \"$(git config core.hooksPath)\" && test $(git branch | wc -l) = 1 && test ! -e .git/hooks/pre-commit && test -z \"$(git status --porcelain)\""},
			{Label: "git is broken", Command: "rm -rf .git", Reward: zero},
			{Label: "a hook never ends", Command: "git config core.fsmonitor 'sleep 3; true'", Reward: zero},
			{Label: "a hook adds a guarded file", Command: "echo 'wc -l' > count.sh && git config core.fsmonitor 'touch /app/conftest.py; false'", Reward: zero},
			{Label: "a hook leaves a process", Command: "echo 'grep -qs [1]234 /proc/[0-9]*/cmdline && wc -l' > count.sh && git config core.fsmonitor 'sleep 1234 >/dev/null 2>&1 & false'", Reward: zero},
			{Label: "the verifier is held up", Command: "echo 'sleep 1000' > count.sh", Reward: zero},
		}},
	} {
		t.Run(tt.task.Instance.DatasetType, func(t *testing.T) {
			task := tt.task
			task.Env = map[string]string{"ARENA_BROKEN": "nothing"}
			task.Start = []string{"/opt/arena/arena"}
			r, err := check.Run(t.Context(), check.Options{
				Image: task.Image(t, e, base), TaskID: task.Instance.TaskID, DatasetType: task.Instance.DatasetType,
				Solution: []byte(task.Solution), Engine: e, HTTP: new(http.Client), Now: time.Now,
				Probes: check.Probes{task.Instance.TaskID: {Module: task.Module, Probe: tt.probes}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Passed {
				t.Errorf("%+v\n%s", r.Failed, r.ContainerLogs)
			}
		})
	}
}
