package image_test

import "testing"

// TestCopy covers where COPY from the build context puts files.
func TestCopy(t *testing.T) { runCases(t, copyCases()) }

func copyCases() []buildCase {
	data := []string{"a.txt", "b.txt", "notes.md", "data/in.txt", "data/deep/x.csv", ".env"}
	return []buildCase{
		{
			name: "a file to a file", dockerfile: "FROM scratch\nCOPY a.txt /app/renamed.txt\n",
			context: data, real: "docker",
			want: []string{"/app/renamed.txt = a.txt COPY:2"},
		},
		{
			name: "a file into a directory by trailing slash", dockerfile: "FROM scratch\nCOPY a.txt /app/\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:2"},
		},
		{
			name: "a file into a directory that exists", dockerfile: "FROM scratch\nWORKDIR /app\nCOPY a.txt /app\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:3"},
		},
		{
			name: "a file into a directory that every base image has", dockerfile: "FROM debian\nCOPY a.txt /root\n",
			context: data,
			want:    []string{"/root/a.txt = a.txt COPY:2"},
		},
		{
			name: "the same name in scratch is a file", dockerfile: "FROM scratch\nCOPY a.txt /root\n",
			context: data, real: "docker",
			want: []string{"/root = a.txt COPY:2"},
		},
		{
			name: "a directory copies its content", dockerfile: "FROM scratch\nCOPY data /app\n",
			context: data, real: "docker",
			want: []string{"/app/deep/x.csv = data/deep/x.csv COPY:2", "/app/in.txt = data/in.txt COPY:2"},
		},
		{
			name: "a directory with slashes on both sides", dockerfile: "FROM scratch\nCOPY data/ /app/data/\n",
			context: data, real: "docker",
			want: []string{"/app/data/deep/x.csv = data/deep/x.csv COPY:2", "/app/data/in.txt = data/in.txt COPY:2"},
		},
		{
			name: "everything, with the Dockerfile itself", dockerfile: "FROM scratch\nCOPY . .\n",
			context: []string{"Dockerfile", "tests/test_outputs.py", ".git/HEAD"}, real: "docker",
			want: []string{"/.git/HEAD = .git/HEAD COPY:2", "/Dockerfile = Dockerfile COPY:2", "/tests/test_outputs.py = tests/test_outputs.py COPY:2"},
		},
		{
			name: "several sources", dockerfile: "FROM scratch\nCOPY a.txt notes.md data /app/\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:2", "/app/deep/x.csv = data/deep/x.csv COPY:2", "/app/in.txt = data/in.txt COPY:2", "/app/notes.md = notes.md COPY:2"},
		},
		{
			name: "several sources without a slash overwrite each other", dockerfile: "FROM scratch\nCOPY a.txt b.txt /app\n",
			context: data, real: "buildkit",
			want: []string{"/app = b.txt COPY:2"},
		},
		{
			name: "a glob", dockerfile: "FROM scratch\nCOPY *.txt /app/\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:2", "/app/b.txt = b.txt COPY:2"},
		},
		{
			name: "a question mark and a set", dockerfile: "FROM scratch\nCOPY ?.txt [n-z]*.md /app/\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:2", "/app/b.txt = b.txt COPY:2", "/app/notes.md = notes.md COPY:2"},
		},
		{
			name: "a glob that matches a directory copies its content", dockerfile: "FROM scratch\nCOPY dat* /app/\n",
			context: data, real: "docker",
			want: []string{"/app/deep/x.csv = data/deep/x.csv COPY:2", "/app/in.txt = data/in.txt COPY:2"},
		},
		{
			name: "a star matches dot files but no slash", dockerfile: "FROM scratch\nCOPY * /app/\n",
			context: []string{"a.txt", ".env", "data/in.txt"}, real: "docker",
			want: []string{"/app/.env = .env COPY:2", "/app/a.txt = a.txt COPY:2", "/app/in.txt = data/in.txt COPY:2"},
		},
		{
			name: "two stars are one star", dockerfile: "FROM scratch\nCOPY **/*.txt /app/\n",
			context: []string{"a.txt", "x/b.txt", "x/y/c.txt"}, real: "buildkit",
			want: []string{"/app/b.txt = x/b.txt COPY:2"},
		},
		{
			name: "an escaped star is a name", dockerfile: "FROM scratch\nCOPY [\"a[[]1].txt\", \"/app/\"]\n",
			context: []string{"a[1].txt", "a1.txt"}, real: "docker",
			want: []string{"/app/a[1].txt = a[1].txt COPY:2"},
		},
		{
			name: "a glob without a match copies nothing", dockerfile: "FROM scratch\nCOPY zz* /app/\nCOPY a.txt /\n",
			context: data, real: "buildkit",
			want: []string{"/a.txt = a.txt COPY:3"},
		},
		{
			name: "names with blanks in JSON form", dockerfile: "FROM scratch\nCOPY [\"my file.txt\", \"/app/my file.txt\"]\n",
			context: []string{"my file.txt"}, real: "docker",
			want: []string{"/app/my file.txt = my file.txt COPY:2"},
		},
		{
			name: "owner, mode and link flags do not matter", dockerfile: "FROM scratch\nCOPY --chown=1000:1000 --chmod=755 --link a.txt /app/\n",
			context: data, real: "buildkit",
			want: []string{"/app/a.txt = a.txt COPY:2"},
		},
		{
			name: "exclude works inside directories, not on named files", dockerfile: "FROM scratch\nCOPY --exclude=*.txt --exclude=a.txt a.txt data /app/\n",
			context: data, real: "buildkit",
			want: []string{"/app/a.txt = a.txt COPY:2", "/app/deep/x.csv = data/deep/x.csv COPY:2"},
		},
		{
			name: "exclude at any depth", dockerfile: "FROM scratch\nCOPY --exclude=**/*.csv data /app/\n",
			context: data, real: "buildkit",
			want: []string{"/app/in.txt = data/in.txt COPY:2"},
		},
		{
			name: "parents keep the directories", dockerfile: "FROM scratch\nCOPY --parents data/deep/x.csv a.txt /app/\n",
			context: data, real: "buildkit",
			want: []string{"/app/a.txt = a.txt COPY:2", "/app/data/deep/x.csv = data/deep/x.csv COPY:2"},
		},
		{
			name: "parents from a pivot", dockerfile: "FROM scratch\nCOPY --parents data/./deep/x.csv /app/\n",
			context: data, real: "buildkit",
			want: []string{"/app/deep/x.csv = data/deep/x.csv COPY:2"},
		},
		{
			name: "parents with two stars", dockerfile: "FROM scratch\nCOPY --parents **/*.txt /app/\n",
			context: data, real: "buildkit",
			want: []string{"/app/a.txt = a.txt COPY:2", "/app/b.txt = b.txt COPY:2", "/app/data/in.txt = data/in.txt COPY:2"},
		},
		{
			name: "parents of a directory", dockerfile: "FROM scratch\nCOPY --parents data /app\n",
			context: data, real: "buildkit",
			want: []string{"/app/data/deep/x.csv = data/deep/x.csv COPY:2", "/app/data/in.txt = data/in.txt COPY:2"},
		},
		{
			name: "here-documents", dockerfile: "FROM scratch\nARG WHO=you\nCOPY <<one <<\"two\" /app/\nhi $WHO\none\nhi $WHO\ntwo\nCOPY <<-eof /etc/motd\n\ttabs gone\n\teof\n",
			real: "buildkit",
			want: []string{"/app/one = - heredoc:3", "/app/two = - heredoc:3", "/etc/motd = - heredoc:8"},
		},
		{
			name: "a later file replaces an earlier one, which stays in its layer", dockerfile: "FROM scratch\nCOPY a.txt /app/x\nCOPY b.txt /app/x\n",
			context: data, real: "docker",
			want: []string{"/app/x = a.txt COPY:2 removed:3", "/app/x = b.txt COPY:3"},
		},
		{
			name: "a missing source", dockerfile: "FROM scratch\nCOPY gone.txt /app/\nCOPY a.txt /app/\n",
			context: data,
			want:    []string{"/app/a.txt = a.txt COPY:3"}, issues: []string{"missing-source:2"},
		},
		{
			name: "a source above the context is cut off at its root", dockerfile: "FROM scratch\nCOPY ../../a.txt /app/\nCOPY /b.txt /app/\n",
			context: data, real: "buildkit",
			want: []string{"/app/a.txt = a.txt COPY:2", "/app/b.txt = b.txt COPY:3"}, issues: []string{"outside-context:2"},
		},
	}
}

// TestWorkdirAndVariables covers how paths are resolved.
func TestWorkdirAndVariables(t *testing.T) { runCases(t, pathCases()) }

func pathCases() []buildCase {
	data := []string{"a.txt", "b.txt"}
	return []buildCase{
		{
			name: "a relative target without WORKDIR", dockerfile: "FROM scratch\nCOPY a.txt sub/\n",
			context: data, real: "docker",
			want: []string{"/sub/a.txt = a.txt COPY:2"},
		},
		{
			name: "relative WORKDIRs add up", dockerfile: "FROM scratch\nWORKDIR /srv\nWORKDIR app\nWORKDIR ../web\nCOPY a.txt .\nCOPY b.txt ./c.txt\n",
			context: data, real: "docker",
			want: []string{"/srv/web/a.txt = a.txt COPY:5", "/srv/web/c.txt = b.txt COPY:6"},
		},
		{
			name: "ENV and ARG in paths", dockerfile: "FROM scratch\nARG ROOT=/srv\nENV APP=${ROOT}/app\nWORKDIR $APP\nCOPY a.txt ${APP}/x/\nCOPY b.txt .\n",
			context: data, real: "docker",
			want: []string{"/srv/app/b.txt = b.txt COPY:6", "/srv/app/x/a.txt = a.txt COPY:5"},
		},
		{
			name: "defaults and alternatives", dockerfile: "FROM scratch\nENV SET=yes\nCOPY a.txt ${NOPE:-/def}/\nCOPY b.txt ${SET:+/alt}/\n",
			context: data, real: "docker",
			want: []string{"/alt/b.txt = b.txt COPY:4", "/def/a.txt = a.txt COPY:3"},
		},
		{
			name: "an undefined variable is empty", dockerfile: "FROM scratch\nCOPY a.txt ${NOPE}/x/\n",
			context: data, real: "docker",
			want: []string{"/x/a.txt = a.txt COPY:2"}, issues: []string{"undefined-variable:2"},
		},
		{
			name: "ARG without a value is defined and empty", dockerfile: "FROM scratch\nARG DIR\nCOPY a.txt $DIR/x/\n",
			context: data, real: "docker",
			want: []string{"/x/a.txt = a.txt COPY:3"},
		},
		{
			name: "a build argument wins over the default", dockerfile: "FROM scratch\nARG DIR=/one\nCOPY a.txt $DIR/\n",
			context: data, opts: opts(map[string]string{"DIR": "/two"}, ""),
			want: []string{"/two/a.txt = a.txt COPY:3"},
		},
		{
			name: "a global ARG must be declared again", dockerfile: "ARG DIR=/one\nFROM scratch\nCOPY a.txt $DIR/\nARG DIR\nCOPY b.txt $DIR/\n",
			context: data, real: "docker",
			want: []string{"/a.txt = a.txt COPY:3", "/one/b.txt = b.txt COPY:5"}, issues: []string{"undefined-variable:3"},
		},
		{
			name: "variables in the source", dockerfile: "FROM scratch\nARG NAME=a\nCOPY ${NAME}.txt /app/\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:3"},
		},
		{
			name: "a backslash protects the dollar", dockerfile: "FROM scratch\nENV X=1\nCOPY a.txt /app/\\$X/\n",
			context: data, real: "docker",
			want: []string{"/app/$X/a.txt = a.txt COPY:3"},
		},
		{
			name: "escape directive with backticks", dockerfile: "# escape=`\nFROM scratch\nCOPY a.txt `\n  b.txt `\n  /app/\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:3", "/app/b.txt = b.txt COPY:3"},
		},
		{
			name: "line continuations with comments between", dockerfile: "FROM scratch\nCOPY \\\n  # first\n  a.txt \\\n\n  b.txt \\\n  /app/\n",
			context: data, real: "buildkit",
			want: []string{"/app/a.txt = a.txt COPY:2", "/app/b.txt = b.txt COPY:2"},
		},
		{
			name: "CRLF and a byte order mark", dockerfile: "\xef\xbb\xbfFROM scratch\r\nCOPY a.txt \\\r\n  /app/\r\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:2"},
		},
		{
			name: "instructions in lower case", dockerfile: "from scratch\ncopy a.txt /app/\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY:2"},
		},
		{
			name: "platform variables", dockerfile: "FROM --platform=$BUILDPLATFORM scratch\nARG TARGETARCH\nCOPY a.txt /bin/$TARGETARCH/\n",
			context: data,
			want:    []string{"/bin/amd64/a.txt = a.txt COPY:3"},
		},
	}
}

// TestIgnore covers .dockerignore.
func TestIgnore(t *testing.T) { runCases(t, ignoreCases()) }

func ignoreCases() []buildCase {
	files := []string{"a.txt", "tests/t.py", "tests/keep.py", "x/y/b.log", "c.log"}
	with := func(ignore string) []string { return append([]string{".dockerignore=" + ignore}, files...) }
	all := "FROM scratch\nCOPY . /c/\n"
	return []buildCase{
		{
			name: "a directory", dockerfile: all, context: with("tests\n.dockerignore\n"), real: "docker",
			want: []string{"/c/a.txt = a.txt COPY:2", "/c/c.log = c.log COPY:2", "/c/x/y/b.log = x/y/b.log COPY:2"},
		},
		{
			name: "an exception", dockerfile: all, context: with("# comment\ntests\n!tests/keep.py\n.dockerignore\n**/*.log\n"), real: "docker",
			want: []string{"/c/a.txt = a.txt COPY:2", "/c/tests/keep.py = tests/keep.py COPY:2"},
		},
		{
			name: "a star stays in its directory", dockerfile: all, context: with("*.log\n.docker*\ntests/*\n"), real: "docker",
			want: []string{"/c/a.txt = a.txt COPY:2", "/c/x/y/b.log = x/y/b.log COPY:2"},
		},
		{
			name: "everything but", dockerfile: all, context: with("*\n!a.txt\n"), real: "docker",
			want: []string{"/c/a.txt = a.txt COPY:2"},
		},
		{
			name: "the Dockerfile's own ignore file wins", dockerfile: all,
			context: append(with("a.txt\n"), "Dockerfile.dockerignore=*\n!c.log\n"), real: "buildkit",
			want: []string{"/c/c.log = c.log COPY:2"},
		},
		{
			name: "copying what is left out", dockerfile: "FROM scratch\nCOPY tests/t.py /c/\nCOPY a.txt /c/\n", context: with("tests\n"),
			want: []string{"/c/a.txt = a.txt COPY:3"}, issues: []string{"ignored-source:2"},
		},
		{
			name: "a pattern that cannot be read leaves everything in", dockerfile: "FROM scratch\nCOPY a.txt /c/\n", context: with("!\n"),
			want: []string{"/c/a.txt = a.txt COPY:2"}, issues: []string{"unparsed:0"},
		},
	}
}
