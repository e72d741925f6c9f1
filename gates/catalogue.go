package gates

import (
	"slices"

	"github.com/posttrainarena/arena/gates/report"
)

// GateSet names the set of rules (PROTOCOL §6), Version this implementation of it. Raise Version whenever a rule
// changes what it reports.
const (
	GateSet = "gates-v2"
	Version = "2.3.0"
)

// Explain returns the catalogue's row for a code.
func Explain(code string) (report.Rule, bool) {
	rules := Catalogue()
	i := slices.IndexFunc(rules, func(r report.Rule) bool { return r.Code == code })
	if i < 0 {
		return report.Rule{}, false
	}
	return rules[i], true
}

// Catalogue returns every code of the gate set with its severity and explanation, strongest severity first. It is
// the one place where these stand.
func Catalogue() []report.Rule {
	return slices.Concat(blockRules(), rejectRules(), controlsRules(), reviewRules(), ownReviewRules())
}

func blockRules() []report.Rule {
	return []report.Rule{
		{
			Code: "sealed-name", Severity: report.Block, Title: "Name of a sealed task",
			Meaning: "The task's directory name, or the last part of task.name, equals the name of a task in an evaluated sealed suite. Case and the difference between - and _ do not count.",
			Why:     "A collection that carries held-out tasks would measure memory instead of improvement, so the whole collection is refused.",
			Example: "envs/Some_Sealed_Task while the suite holds some-sealed-task.",
			Fix:     "If the task is your own work, rename its directory and task.name. If it comes from the benchmark, remove it.",
		},
		{
			Code: "sealed-near-copy", Severity: report.Block, Title: "Near-copy of a sealed prompt",
			Meaning: "At least half of the 13-word sequences of the prompt occur in one evaluated sealed prompt, or half of that prompt's occur in this one. A prompt of fewer than 13 words is compared as a whole.",
			Why:     "Training on a held-out task, reworded or not, makes every result of the collection worthless.",
			Example: "A prompt that was copied from a public benchmark and had its file names changed.",
			Fix:     "Remove the task, or write a different one from scratch.",
		},
	}
}

func rejectRules() []report.Rule {
	return []report.Rule{
		{
			Code: "oracle-in-image", Severity: report.Reject, Title: "Reference solution in the image",
			Meaning: "The image build puts files of the reference solution where the agent can read them: by their path, through a wildcard of the build context, or as an identical or nearly identical file under another name, packed or not.",
			Why:     "An agent that finds the solution is rewarded for copying it and learns nothing else.",
			Example: "COPY . /app with a helper.sh in the context that has the text of solve.sh.",
			Fix:     "Keep the solution outside environment/ and list what the agent needs in COPY by name.",
		},
		{
			Code: "verifier-in-image", Severity: report.Reject, Title: "Verifier in the image",
			Meaning: "The image build puts test.sh, the tests, what they run or import, or the verifier's expected outputs where the agent can read them: by their path, or as an identical or nearly identical file under another name, packed or not.",
			Why:     "Tests that are visible can be satisfied without solving the task.",
			Example: "COPY tests/ /app/tests/ where tests/ repeats verifier/test_outputs.py.",
			Fix:     "Keep tests and expected outputs in verifier/; they are mounted only while grading.",
		},
		{
			Code: "answer-key-in-image", Severity: report.Reject, Title: "Answer key in the image",
			Meaning: "The verifier compares with a file that is named like an answer key (truth, oracle, expected, answer, gold, label, solution, reference and the like), that the image build creates, and that the prompt never mentions.",
			Why:     "The agent can read the answer instead of producing it.",
			Example: "RUN python3 make_data.py --truth /data/truth.json, read again in test_outputs.py.",
			Fix:     "Move the expected values into verifier/, or compute them there from the inputs.",
		},
		{
			Code: "sealed-overlap", Severity: report.Reject, Title: "Text shared with a sealed prompt",
			Meaning: "The prompt and an evaluated sealed prompt have a sequence of 13 words in common.",
			Why:     "Thirteen equal words in a row are rarely chance; the task may be derived from a held-out one.",
			Example: "A paragraph of instructions taken over from a public benchmark's task.",
			Fix:     "Rewrite the prompt in your own words. If the task itself is derived from a benchmark, replace it.",
		},
	}
}

func controlsRules() []report.Rule {
	return []report.Rule{
		{
			Code: "no-oracle", Severity: report.Controls, Title: "No reference solution",
			Meaning: "There is neither oracle/solve.sh nor solution/solve.sh. When both directories exist only oracle/ is looked at, as the pipeline does.",
			Why:     "Nothing shows that the task can be solved and that its verifier accepts a solution. The task counts only if its no-op controls score 0 and the base model solves it at least once.",
			Example: "A package with prompt, environment and verifier only.",
			Fix:     "Add oracle/solve.sh that solves the task from the agent's starting point.",
		},
		{
			Code: "stub-oracle", Severity: report.Controls, Title: "Reference solution does nothing",
			Meaning: "solve.sh consists of comments, set, cd, echo to the terminal, true, : and exit, so that running it changes nothing.",
			Why:     "If doing nothing scores 1 the task is broken; if it scores 0 the reference solution is no evidence. Either way the task is treated like one without a solution.",
			Example: "#!/bin/bash followed by exit 0.",
			Fix:     "Write the commands that solve the task.",
		},
	}
}

func reviewRules() []report.Rule {
	return []report.Rule{
		{
			Code: "answer-like-file", Severity: report.Review, Title: "File named like an answer in the image",
			Meaning: "A file whose name suggests a solution or an expected result ends in the agent's image, although the verifier does not read it.",
			Why:     "It may give the answer away, or distract the agent.",
			Example: "COPY data/ /app/data/ with data/expected_output.txt.",
			Fix:     "Remove the file, or rename it if it is an input.",
		},
		{
			Code: "verifier-named-file", Severity: report.Review, Title: "File named like a verifier in the image",
			Meaning: "A file with a name such as test.sh, test_outputs.py, grader or verify ends in the agent's image.",
			Why:     "It may be a copy of the tests, or be mistaken for them.",
			Example: "COPY . /app with grader.py in the context.",
			Fix:     "Leave it out of the image unless the prompt is about it.",
		},
		{
			Code: "image-bytecode", Severity: report.Review, Title: "Bytecode in the image",
			Meaning: "Compiled Python files of the build context end in the image.",
			Why:     "Bytecode can hold a solution or a test that its source no longer shows.",
			Example: "environment/__pycache__/solver.cpython-312.pyc under COPY . /app.",
			Fix:     "Delete it and add __pycache__/ and *.pyc to .dockerignore.",
		},
		{
			Code: "image-cache", Severity: report.Review, Title: "Caches in the image",
			Meaning: "Tool caches of the build context, such as .pytest_cache or node_modules/.cache, end in the image.",
			Why:     "A cache may hold results of the author's own test runs.",
			Example: "environment/.pytest_cache/ under COPY . /app.",
			Fix:     "Delete it and list it in .dockerignore.",
		},
		{
			Code: "image-git", Severity: report.Review, Title: "Git history in the image",
			Meaning: "A .git directory or file of the build context ends in the agent's image although the prompt does not speak of Git, or the build clones a repository and keeps its history.",
			Why:     "History often contains the fix that the task asks for.",
			Example: "RUN git clone of a repository at a commit whose successor is the solution.",
			Fix:     "Remove .git in the same layer, or fetch an archive without history.",
		},
		{
			Code: "remote-add", Severity: report.Review, Title: "Remote ADD",
			Meaning: "The Dockerfile adds a file from a web address.",
			Why:     "The content can change or vanish after the collection was reviewed.",
			Example: "ADD https://example.org/data.tar.gz /data/",
			Fix:     "Put the file into the package, or give ADD a checksum.",
		},
		{
			Code: "oracle-downloads", Severity: report.Review, Title: "Reference solution downloads",
			Meaning: "solve.sh fetches something from another host.",
			Why:     "A solution that is downloaded cannot be reviewed, and fails where the task has no network.",
			Example: "curl -O https://example.org/fixed.py in solve.sh.",
			Fix:     "Write the solution out, or install what it needs in the image.",
		},
		{
			Code: "unmentioned-grading-data", Severity: report.Review, Title: "Unmentioned grading data in the image",
			Meaning: "The verifier reads a file that the image build creates and that the prompt never mentions.",
			Why:     "The agent may change or find it without knowing that it decides the reward.",
			Example: "test_outputs.py reads /opt/limits.json, which only the Dockerfile knows.",
			Fix:     "Move the file to verifier/, or mention it in the prompt.",
		},
		{
			Code: "existence-only", Severity: report.Review, Title: "Verifier checks existence only",
			Meaning: "All assertions of the tests ask only whether paths exist, in Python or by running test -f. Assertions whose failure is swallowed do not count.",
			Why:     "An empty file would earn the full reward.",
			Example: "assert os.path.exists(\"/app/out.txt\") and nothing else.",
			Fix:     "Check what the files contain.",
		},
		{
			Code: "no-assertions", Severity: report.Review, Title: "Verifier asserts nothing",
			Meaning: "The tests have no assertion and no other way to fail. Assertions of skipped tests, of functions that nothing calls, and those whose failure is swallowed do not count.",
			Why:     "Every attempt passes.",
			Example: "def test_output(): print(open(\"/app/out.txt\").read())",
			Fix:     "Assert what the prompt asks for.",
		},
		{
			Code: "always-reward", Severity: report.Review, Title: "Reward is always 1",
			Meaning: "Every path through test.sh on which it writes the reward writes 1.",
			Why:     "A constant reward teaches nothing, and a no-op passes.",
			Example: "echo 1 > /logs/verifier/reward.txt without a condition.",
			Fix:     "Let the outcome of the tests decide: if pytest …; then echo 1; else echo 0; fi, written to the reward file.",
		},
		{
			Code: "sealed-overlap-unevaluated", Severity: report.Review, Title: "Text shared with a sealed prompt outside the evaluated set",
			Meaning: "The prompt and a sealed prompt that is not evaluated at present have a sequence of 13 words in common.",
			Why:     "The evaluated subset may change, and the shared text may come from the same source.",
			Example: "A prompt that borrows a paragraph from a benchmark's task.",
			Fix:     "Rewrite the prompt in your own words.",
		},
	}
}

func ownReviewRules() []report.Rule {
	return []report.Rule{
		{
			Code: "verifier-downloads", Severity: report.Review, Title: "Verifier needs the network",
			Meaning: "test.sh or a test installs or fetches something although the task has no network.",
			Why:     "Grading then fails for every attempt, right or wrong.",
			Example: "pip install pytest in test.sh with allow_internet: false.",
			Fix:     "Install the tools in the Dockerfile.",
		},
		{
			Code: "verifier-agent-writable", Severity: report.Review, Title: "Verifier depends on files the agent can write",
			Meaning: "The verifier runs or imports code from a place that the agent can change.",
			Why:     "An agent can pass by editing the judge instead of doing the work.",
			Example: "test.sh runs /app/check.py.",
			Fix:     "Keep everything that decides the reward in verifier/ or in system paths.",
		},
		{
			Code: "reward-abort", Severity: report.Review, Title: "Verifier can end without a reward",
			Meaning: "set -e ends test.sh at a failing check, before any reward is written.",
			Why:     "No reward counts as a verifier error instead of a failure, and too many errors stop a run.",
			Example: "set -e, then pytest, then the line that writes the reward.",
			Fix:     "Run the check inside if, or write 0 before it starts.",
		},
		{
			Code: "oracle-reads-verifier", Severity: report.Review, Title: "Reference solution reads the verifier",
			Meaning: "solve.sh reads files of the verifier or of its mount.",
			Why:     "A solution that copies the expected result does not show that the task can be solved.",
			Example: "cp /verifier/expected.json /app/out.json in solve.sh.",
			Fix:     "Compute the result from what the agent can see.",
		},
		{
			Code: "literal-only", Severity: report.Review, Title: "Assertions compare only literals",
			Meaning: "The tests compare constants with constants, so that no work of the agent takes part.",
			Why:     "Their outcome is fixed before the attempt begins.",
			Example: "EXPECTED = 3, then assert EXPECTED == 3.",
			Fix:     "Read what the agent produced and compare that.",
		},
		{
			Code: "clock-dependent", Severity: report.Review, Title: "Verdict depends on time or chance",
			Meaning: "A test's verdict depends on the current time or on unseeded random numbers. How long something takes, and random inputs for which any value must give the right result, do not count.",
			Why:     "The same attempt may pass today and fail tomorrow, which training takes for a signal.",
			Example: "assert report[\"date\"] == str(date.today())",
			Fix:     "Fix the time and the seed, or accept any valid value.",
		},
		{
			Code: "duplicate-task", Severity: report.Review, Title: "Duplicate within the collection",
			Meaning: "The task has the same files as another one of the collection, the same prompt up to case and punctuation, or shares at least four fifths of its 13-word sequences (30 or more) with it.",
			Why:     "Copies weigh the same work twice and make a collection look larger than it is.",
			Example: "Two packages that differ only in their directory name.",
			Fix:     "Keep one, or make the tasks ask for different work.",
		},
		{
			Code: "unparsed", Severity: report.Review, Title: "File could not be parsed",
			Meaning: "A parser refused a file that the gates look into, or the Dockerfile names a base or a stage that does not exist, so that rules about it did not run or saw only a part.",
			Why:     "What cannot be read cannot be checked; often the task does not work either.",
			Example: "An unclosed quote in solve.sh.",
			Fix:     "Correct the file at the place named, or make it small and plain enough to be read.",
		},
		{
			Code: "secret", Severity: report.Review, Title: "Credential in the files",
			Meaning: "A file holds something with the exact form of an access token or a private key.",
			Why:     "Collections are public: a real credential is leaked the moment it is uploaded.",
			Example: "A cloud access key in environment/.env.",
			Fix:     "Remove and revoke it. If it is made up for the task, say so in a comment or give it an obviously invalid form.",
		},
	}
}
