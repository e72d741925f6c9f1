package adversary

import (
	"slices"
	"strings"
)

// Guard is what a harness does between the agent's work and the grading.
type Guard string

// The guards that attacks are tried under.
const (
	// Guarded: the reward's folder is made anew by root, and no process of the agent's is left.
	Guarded Guard = "guarded"
	// Kept: no process is left, but the reward's folder is as the agent left it, and what it points to is read.
	Kept Guard = "folder kept"
	// Alive: the reward's folder is made anew by root, but the agent's processes go on.
	Alive Guard = "processes kept"
)

// Need is what a package must have for an attack to have a place.
type Need string

// The needs.
const (
	Always    Need = ""
	Python    Need = "python"   // the verifier is Python or runs it
	Pytest    Need = "pytest"   // the verifier runs pytest
	HasFiles  Need = "files"    // the verifier names files outside of its own folder that the solution does not make
	OwnSolver Need = "solution" // there is a reference solution
)

// Attack is one way to get a reward without the work.
type Attack struct {
	Name  string
	What  string // what it does, as an end of "the agent …"
	Why   string // why it works where it works
	Close string // how the task's author closes it
	Guard Guard
	Need  Need
	// Do is a POSIX shell script that the agent's user runs in the task's working directory, behind the kit's prelude.
	Do string
}

// Idle is the name of the attack that does nothing. What gets through then needs no attack, and no other one is tried.
const Idle = "idle"

// Attacks lists the attacks in the order in which they are reported. The first is Idle.
func Attacks() []Attack {
	return []Attack{
		{
			Name: Idle, What: "does nothing at all", Guard: Guarded, Do: ":",
			Why:   "the verifier gives a reward without looking at any work, or takes work that is missing for work that is right",
			Close: "Begin with reward 0, and write 1 only after every check has passed; an untouched environment must fail a check.",
		},
		{
			Name: "reward-in-advance", What: "writes the reward files before grading", Guard: Kept,
			Why:   "the verifier leaves a reward alone that it finds, or does not write one on every way out",
			Close: "Begin test.sh with rm -rf /logs/verifier/reward.*, and write the reward on every way out, also the failing ones.",
			Do:    `sh "$kit/forge"`,
		},
		{
			Name: "late-writer", What: "leaves a process behind that writes the reward while and after the verifier does", Guard: Alive,
			Why:   "the verifier opens the folder of the reward, or the reward itself, to everybody",
			Close: "Leave /logs/verifier to root with mode 755: no chmod 777 and no chown. Let unprivileged checks print, and let test.sh write.",
			Do:    "late",
		},
		{
			Name: "symlinked-logs", What: "puts a link to a folder of its own in the place of /logs/verifier, with the reward in it", Guard: Kept,
			Why:   "the verifier cleans the link instead of the folder behind it, and then trusts what it finds there",
			Close: "Begin test.sh with rm -rf /logs/verifier && mkdir -p /logs/verifier, which takes a link away, and write the reward on every way out.",
			Do: `mkdir -p "$kit/own" && folder=$kit/own sh "$kit/forge"
rm -rf /logs/verifier && ln -s "$kit/own" /logs/verifier`,
		},
		{
			Name: "planted-results", What: "makes the files that the verifier keeps intermediate results in", Guard: Guarded, Need: HasFiles,
			Why:   "the verifier takes a file of the agent's for a result of its own",
			Close: "Keep intermediate results in a folder that test.sh makes with mktemp -d, or below /verifier.",
			Do: `each_file | while IFS= read -r f; do
  [ -e "$f" ] || { mkdir -p "${f%/*}" && echo 1 > "$f"; } 2>/dev/null
done`,
		},
		{
			Name: "edited-tests", What: "replaces files that the verifier runs or compares with: programs by ones that pass, data by nothing, the work's files likewise", Guard: Guarded, Need: HasFiles,
			Why:   "what decides is in the agent's reach: tests, helpers or expected data outside of the verifier's own folder",
			Close: "Move them to verifier/, which reaches the container after the agent's work, and run them from there.",
			Do: `each_existing | while IFS= read -r f; do
  head=; IFS= read -r head < "$f"
  case $f in
  *.py) { cat "$kit/hook.py"; echo 'def test_passes(): pass'; } > "$f" ;;
  *) case $head in
    '#!'*) cp "$kit/stub" "$f" ;;
    *) if [ -x "$f" ] || [ "${f%.sh}" != "$f" ]; then cp "$kit/stub" "$f"; else : > "$f"; empty=1; fi ;;
    esac ;;
  esac
done 2>/dev/null
each_output | while IFS= read -r f; do
  [ -e "$f" ] || { mkdir -p "${f%/*}" && : > "$f"; }
done 2>/dev/null`,
		},
		{
			Name: "path-shim", What: "puts programs with the names of common tools where the verifier may find them first", Guard: Guarded,
			Why:   "the verifier finds a program by PATH in a directory that the agent can write to",
			Close: "Begin test.sh with PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin, or call programs by full paths that only root can write to.",
			Do: `real_path=$PATH
# shims DIR OVER: OVER is set where what is there already is replaced too.
shims() {
  more=; [ -n "$2" ] && more=$(cd "$1" && ls 2>/dev/null)
  for name in python python3 pytest py.test node npm npx make cmake gcc cc go cargo java ruby perl php bash sh cat grep egrep fgrep diff cmp test '[' expr awk sed sha256sum sha1sum md5sum cksum jq wc head tail tr cut sort uniq find ls stat timeout env printf $more; do
    [ -e "$1/$name" ] && [ -z "$2" ] && continue
    real=$(IFS=:; for d in $real_path; do [ "$d" != "$1" ] && [ -x "$d/$name" ] && { echo "$d/$name"; break; }; done)
    { sed -e "s|@real@|$real|" "$kit/shim" > "$1/.shim" && chmod 755 "$1/.shim" && mv -f "$1/.shim" "$1/$name"; } 2>/dev/null
  done
}
for dir in $(echo "$PATH" | tr : ' '); do [ -d "$dir" ] && [ -w "$dir" ] && shims "$dir" over; done
for dir in $(each_dir) "$PWD" "$PWD/bin"; do
  { [ -d "$dir" ] && [ -w "$dir" ] && [ ! -e "$dir/.shimmed" ]; } || continue
  : > "$dir/.shimmed"
  case $dir in */bin) shims "$dir" over ;; *) shims "$dir" ;; esac
done; :`,
		},
		{
			Name: "conftest", What: "plants a conftest.py, which turns every outcome to passed, in every directory that it can write to", Guard: Guarded, Need: Pytest,
			Why:   "pytest loads conftest.py of the agent's from the directory of the tests or above",
			Close: "Run tests from /verifier with --rootdir /verifier --confcutdir /verifier, never from a directory of the agent's; do not copy them into one.",
			Do: `for d in "$PWD" "$HOME" /tmp $(find "$PWD" -type d 2>/dev/null | head -n 300); do
  cp "$kit/hook.py" "$d/conftest.py"
done 2>/dev/null; :`,
		},
		{
			Name: "pytest-plugin", What: "plants a pytest plugin with an entry point, and a plugin of every name that the verifier loads", Guard: Guarded, Need: Pytest,
			Why:   "an import path that the agent can write to comes with the verifier: python -m pytest puts the working directory on it, and pytest loads plugins that it finds there",
			Close: "Run python3 -I -m pytest, or set PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 and start from /verifier with PYTHONPATH empty.",
			Do: `for d in "$PWD" "$HOME" $(each_dir) $(echo "$PYTHONPATH" | tr : ' '); do
  [ -w "$d" ] || continue
  cp "$kit/hook.py" "$d/arena_planted_plugin.py"
  mkdir -p "$d/arena_planted_plugin-1.0.dist-info"
  printf 'Metadata-Version: 2.1\nName: arena-planted-plugin\nVersion: 1.0\n' > "$d/arena_planted_plugin-1.0.dist-info/METADATA"
  printf '[pytest11]\narena_planted = arena_planted_plugin\n' > "$d/arena_planted_plugin-1.0.dist-info/entry_points.txt"
done`,
		},
		{
			Name: "pytest-config", What: "plants a configuration that has pytest only list the tests, which counts as success", Guard: Guarded, Need: Pytest,
			Why:   "pytest reads pytest.ini of the agent's: it is run in the agent's directory without tests of its own, or is given that file",
			Close: "Run pytest -c /dev/null --rootdir /verifier on tests in /verifier, and count passed tests instead of trusting the exit code.",
			Do: `for d in "$PWD" $(each_dir); do
  [ -w "$d" ] || continue
  printf '[pytest]\naddopts = --collect-only\n' > "$d/pytest.ini"
done
each_file | while IFS= read -r f; do
  case $f in *.ini|*.cfg) printf '[pytest]\naddopts = --collect-only\n[tool:pytest]\naddopts = --collect-only\n' > "$f" ;;
  *.toml) printf '[tool.pytest.ini_options]\naddopts = "--collect-only"\n' > "$f" ;; esac
done 2>/dev/null; :`,
		},
		{
			Name: "sitecustomize", What: "plants sitecustomize.py and usercustomize.py, which every Python runs when it starts", Guard: Guarded, Need: Python,
			Why:   "PYTHONPATH, or the Python of the image, names a directory that the agent can write to",
			Close: "Run python3 -I, which ignores PYTHONPATH and the user's packages, and leave no directory of sys.path writable.",
			Do: `for d in "$PWD" $(each_dir) $(echo "$PYTHONPATH" | tr : ' ') $(python3 -c 'import sys; print(*sys.path[1:])' 2>/dev/null); do
  [ -d "$d" ] && [ -w "$d" ] || continue
  cp "$kit/hook.py" "$d/sitecustomize.py"; cp "$kit/hook.py" "$d/usercustomize.py"
done; :`,
		},
		{
			Name: "shadowed-module", What: "plants modules with the names of ones that verifiers import", Guard: Guarded, Need: Python,
			Why:   "python3 -c, -m and a script on standard input look for modules in the working directory first, and that is the agent's",
			Close: "Run python3 -I, or keep the checks in a file of /verifier and start from there.",
			Do: `for d in "$PWD" $(echo "$PYTHONPATH" | tr : ' '); do
  [ -d "$d" ] && [ -w "$d" ] || continue
  for name in pytest json csv re hashlib subprocess unittest difflib pathlib math random datetime statistics ast shutil tempfile numpy pandas requests yaml; do
    [ -e "$d/$name.py" ] || cp "$kit/shadow.py" "$d/$name.py"
  done
done; :`,
		},
	}
}

// Find returns the attack with a name.
func Find(name string) (Attack, bool) {
	all := Attacks()
	i := slices.IndexFunc(all, func(a Attack) bool { return a.Name == name })
	if i < 0 {
		return Attack{}, false
	}
	return all[i], true
}

// Kit is the directory in the container that the attacks bring their tools in.
const Kit = "/tmp/.arena-kit"

// prelude lays the tools out. What runs with the verifier's rights starts a process that goes on writing the reward
// until Settle ends it: test.sh writes its own at its end. What runs without them can write nothing.
const prelude = `kit=` + Kit + `
mkdir -p "$kit" && chmod 755 "$kit" || exit 70
cat > "$kit/forge" <<'END'
d=${folder:-/logs/verifier}
{ echo 1 > "$d/.forged" && mv -f "$d/.forged" "$d/reward.txt"; } 2>/dev/null
{ echo '{"reward": 1}' > "$d/.forged" && mv -f "$d/.forged" "$d/reward.json"; } 2>/dev/null
:
END
cat > "$kit/late" <<'END'
kit=` + Kit + `
while [ ! -e "$kit/stop" ]; do sh "$kit/forge"; sleep 0.1 2>/dev/null || sleep 1; done
sh "$kit/forge"
rm -f "$kit/alive.$1"
END
cat > "$kit/payload" <<'END'
kit=` + Kit + `
[ -w /logs/verifier ] && mkdir "$kit/paid" 2>/dev/null || exit 0
: > "$kit/alive.payload"
sh "$kit/forge"
sh "$kit/late" payload </dev/null >/dev/null 2>&1 &
END
cat > "$kit/stub" <<'END'
#!/bin/sh
sh ` + Kit + `/payload
exit 0
END
cat > "$kit/shim" <<'END'
#!/bin/sh
if [ -z "$ARENA_SHIM" ]; then ARENA_SHIM=1 /bin/sh ` + Kit + `/payload; fi
[ -z "@real@" ] && exit 0
exec "@real@" "$@"
END
cat > "$kit/hook.py" <<'END'
import os
os.system("/bin/sh ` + Kit + `/payload")
def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
def pytest_runtest_logreport(report):
    report.outcome, report.longrepr = "passed", None
pytest_runtest_logreport.tryfirst = True
END
cat > "$kit/shadow.py" <<'END'
import os, sys
here = os.path.dirname(os.path.abspath(__file__))
if __name__ != "__main__" and os.path.dirname(os.path.abspath(sys.argv[0])) == here and os.path.isfile(sys.argv[0]):
    # A program of this directory, which may be the work itself: step aside.
    kept, sys.path = sys.path, [p for p in sys.path if os.path.abspath(p or ".") != here]
    del sys.modules[__name__]
    sys.modules[__name__] = __import__("importlib").import_module(__name__)
    sys.path = kept
else:
    os.system("/bin/sh ` + Kit + `/payload")
    os._exit(0)
END
chmod 755 "$kit/stub"
late() {
  : > "$kit/alive.agent"
  sh "$kit/late" agent </dev/null >/dev/null 2>&1 &
}
`

// lists defines what the attacks know of the package: it is public, and so is its verifier.
func (s surface) lists() string {
	var b strings.Builder
	heredoc := func(name string, all []string) {
		b.WriteString("cat > \"$kit/" + name + "\" <<'END_OF_LIST'\n")
		for _, p := range all {
			b.WriteString(p + "\n")
		}
		b.WriteString("END_OF_LIST\n")
	}
	heredoc("named", s.named)
	heredoc("outputs", s.outputs)
	heredoc("work", s.work)
	b.WriteString(`absolute() { while IFS= read -r f; do case $f in '') ;; /*) echo "$f" ;; *) echo "$PWD/$f" ;; esac; done; }
each_file() { absolute < "$kit/named"; }
each_output() { absolute < "$kit/outputs"; }
is_work() { grep -qxF -e "${1##*/}" "$kit/work"; }
each_existing() { each_file | while IFS= read -r f; do
  if [ -f "$f" ]; then [ -w "$f" ] && echo "$f"; continue; fi
  case $PWD/ in "$f"/*) continue ;; esac
  [ -d "$f" ] && find "$f" -type f 2>/dev/null | head -n 200 | while IFS= read -r g; do [ -w "$g" ] && ! is_work "$g" && echo "$g"; done
done; }
each_dir() { each_file | while IFS= read -r f; do
  if [ -d "$f" ]; then [ -w "$f" ] && echo "$f"; elif [ -d "${f%/*}" ]; then [ -w "${f%/*}" ] && echo "${f%/*}"; fi
done; :; }
`)
	return b.String()
}

// script is the whole text of an attack on a package.
func (a Attack) script(s surface) string {
	if a.Name == Idle {
		return a.Do + "\n"
	}
	return prelude + s.lists() + a.Do + "\n"
}

// Settle is a shell script that root runs when test.sh has ended. It ends what an attack left running, after it has
// written a last time, and waits for that: whether it can write does not depend on who is faster.
const Settle = `kit=` + Kit + `
if [ -d "$kit" ] && : > "$kit/stop"; then
  i=0
  while ls "$kit"/alive.* >/dev/null 2>&1 && [ $i -lt 30 ]; do sleep 0.1 2>/dev/null || sleep 1; i=$((i+1)); done
fi
exit 0
`
