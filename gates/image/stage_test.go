package image_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/image"
)

func opts(args map[string]string, target string) image.Options {
	return image.Options{BuildArgs: args, Target: target}
}

// TestStages covers builds with several FROM.
func TestStages(t *testing.T) { runCases(t, stageCases()) }

func stageCases() []buildCase {
	data := []string{"a.txt", "b.txt", "tests/t.py", "tests/deep/u.py"}
	return []buildCase{
		{
			name: "only what is copied comes along", dockerfile: "FROM scratch AS build\nCOPY . /src\nFROM scratch\nCOPY --from=build /src/a.txt /app/\n",
			context: data, real: "docker",
			want: []string{"/app/a.txt = a.txt COPY --from:4"},
		},
		{
			name: "a directory by stage number", dockerfile: "FROM scratch\nCOPY tests /src/tests\nFROM scratch\nCOPY --from=0 /src /app\n",
			context: data, real: "docker",
			want: []string{"/app/tests/deep/u.py = tests/deep/u.py COPY --from:4", "/app/tests/t.py = tests/t.py COPY --from:4"},
		},
		{
			name: "a glob in a stage", dockerfile: "FROM scratch AS one\nWORKDIR /w\nCOPY a.txt b.txt ./\nFROM scratch\nCOPY --from=one /w/*.txt w/a.txt /o/\n",
			context: data, real: "docker",
			want: []string{"/o/a.txt = a.txt COPY --from:5", "/o/b.txt = b.txt COPY --from:5"},
		},
		{
			name: "a stage based on a stage has its files", dockerfile: "FROM scratch AS one\nWORKDIR /w\nCOPY a.txt .\nFROM one\nCOPY b.txt .\n",
			context: data, real: "docker",
			want: []string{"/w/a.txt = a.txt COPY:3", "/w/b.txt = b.txt COPY:5"},
		},
		{
			name: "a stage that nothing needs is not built", dockerfile: "FROM scratch AS tests\nCOPY tests /t\nCOPY gone /x\nFROM scratch\nCOPY a.txt /\n",
			context: data, real: "buildkit",
			want: []string{"/a.txt = a.txt COPY:5"},
		},
		{
			name: "a target stage", dockerfile: "FROM scratch AS one\nCOPY a.txt /\nFROM scratch AS two\nCOPY b.txt /\n",
			context: data, opts: opts(nil, "one"),
			want: []string{"/a.txt = a.txt COPY:2"},
		},
		{
			name: "stage names in any case", dockerfile: "FROM scratch AS One\nCOPY a.txt /x\nFROM scratch\nCOPY --from=ONE /x /y\n",
			context: data, real: "docker",
			want: []string{"/y = a.txt COPY --from:4"},
		},
		{
			name: "the last stage of a name counts", dockerfile: "FROM scratch AS one\nCOPY a.txt /x\nFROM scratch AS one\nCOPY b.txt /x\nFROM scratch\nCOPY --from=one /x /y\n",
			context: data, real: "buildkit",
			want: []string{"/y = b.txt COPY --from:6"},
		},
		{
			name: "FROM with a variable", dockerfile: "ARG BASE=scratch\nARG SECOND=one\nFROM ${BASE} AS one\nCOPY a.txt /x\nFROM ${SECOND}\nCOPY b.txt /y\n",
			context: data, real: "docker",
			want: []string{"/x = a.txt COPY:4", "/y = b.txt COPY:6"},
		},
		{
			name: "FROM with a default", dockerfile: "FROM ${BASE:-scratch}\nCOPY a.txt /x\n",
			context: data, real: "docker",
			want: []string{"/x = a.txt COPY:2"},
		},
		{
			name: "variables of a parent stage", dockerfile: "FROM scratch AS one\nENV E=/env\nARG A=/arg\nFROM one\nCOPY a.txt $E/\nCOPY b.txt $A/\n",
			context: data, real: "buildkit",
			want: []string{"/arg/b.txt = b.txt COPY:6", "/env/a.txt = a.txt COPY:5"},
		},
		{
			name: "ONBUILD runs in the child", dockerfile: "FROM scratch AS one\nWORKDIR /w\nONBUILD COPY b.txt late.txt\nFROM one\nCOPY a.txt .\n",
			context: data, real: "docker",
			want: []string{"/w/a.txt = a.txt COPY:5", "/w/late.txt = b.txt COPY:4"},
		},
		{
			name: "ONBUILD does not run in its own image", dockerfile: "FROM scratch\nONBUILD COPY b.txt /late.txt\nCOPY a.txt /\n",
			context: data, real: "docker",
			want: []string{"/a.txt = a.txt COPY:3"},
		},
		{
			name: "a file removed in a parent stays in its layer", dockerfile: "FROM debian AS one\nCOPY tests /t\nRUN rm -rf /t\nFROM one\nCOPY a.txt /\n",
			context: data,
			want: []string{
				"/a.txt = a.txt COPY:5",
				"/t/deep/u.py = tests/deep/u.py COPY:2 removed:3", "/t/t.py = tests/t.py COPY:2 removed:3",
			},
		},
		{
			name: "a file removed in a stage that is copied from is gone", dockerfile: "FROM debian AS one\nCOPY tests /t\nRUN rm /t/t.py\nFROM scratch\nCOPY --from=one /t /t\n",
			context: data,
			want:    []string{"/t/deep/u.py = tests/deep/u.py COPY --from:5"},
		},
		{
			name: "COPY --from an image", dockerfile: "FROM scratch\nCOPY --from=example.org/tool:1 /usr/bin/tool /bin/\nCOPY --from=example.org/tool:1 /lib/*.so /lib/\n",
			want: []string{"/bin/tool = - COPY --from:2"},
		},
		{
			name: "an unknown file of a base image in a stage", dockerfile: "FROM debian AS one\nFROM scratch\nCOPY --from=one /etc/passwd /etc/passwd\n",
			want: []string{"/etc/passwd = - COPY --from:3"},
		},
		{
			name: "a file that a scratch stage cannot have", dockerfile: "FROM scratch AS one\nFROM scratch\nCOPY --from=one /x /y\n",
			issues: []string{"missing-source:3"},
		},
		{
			name: "a stage depends on itself", dockerfile: "FROM scratch AS one\nCOPY --from=one /x /y\nCOPY a.txt /\n",
			context: data,
			want:    []string{"/a.txt = a.txt COPY:3"}, issues: []string{"circular-stage:2"},
		},
		{
			name: "two stages depend on each other", dockerfile: "FROM scratch AS one\nCOPY a.txt /a\nCOPY --from=two /b /b\nFROM scratch AS two\nCOPY b.txt /b\nCOPY --from=one /a /a\n",
			context: data,
			want:    []string{"/a = a.txt COPY --from:6", "/b = b.txt COPY:5"}, issues: []string{"circular-stage:3"},
		},
		{
			name: "a stage number out of range", dockerfile: "FROM scratch\nCOPY --from=7 /x /y\nCOPY a.txt /\n",
			context: data,
			want:    []string{"/a.txt = a.txt COPY:3"}, issues: []string{"unknown-stage:2"},
		},
		{
			name: "a stage that comes later", dockerfile: "FROM scratch AS one\nCOPY --from=two /b /b\nFROM scratch AS two\nCOPY b.txt /b\nFROM one\nCOPY a.txt /\n",
			context: data,
			want:    []string{"/a.txt = a.txt COPY:6", "/b = b.txt COPY --from:2"}, issues: []string{"later-stage:2"},
		},
		{
			name: "FROM a stage that comes later means an image", dockerfile: "FROM two AS one\nCOPY a.txt /\nFROM scratch AS two\nFROM one\n",
			context: data,
			want:    []string{"/a.txt = a.txt COPY:2"}, issues: []string{"later-stage:1"},
		},
		{
			name: "FROM its own name", dockerfile: "FROM one AS one\nCOPY a.txt /\n",
			context: data,
			want:    []string{"/a.txt = a.txt COPY:2"}, issues: []string{"circular-stage:1"},
		},
		{
			name: "FROM a variable without a value", dockerfile: "FROM ${NOPE}\nCOPY a.txt /\n",
			context: data,
			want:    []string{"/a.txt = a.txt COPY:2"}, issues: []string{"undefined-variable:1", "unresolved-base:1"},
		},
		{
			name: "no FROM at all", dockerfile: "COPY a.txt /\nRUN rm /a.txt\n",
			context: data,
			want:    []string{"/a.txt = a.txt COPY:1 removed:2"}, issues: []string{"no-from:1"},
		},
		{name: "only ARG", dockerfile: "ARG X=1\n", issues: []string{"no-from:1"}},
		{name: "an empty file", dockerfile: "", issues: []string{"no-from:1"}},
		{name: "only comments", dockerfile: "# FROM scratch\n", issues: []string{"no-from:1"}},
		{
			name: "an unknown target", dockerfile: "FROM scratch\nCOPY a.txt /\n", context: data, opts: opts(nil, "nope"),
			want: []string{"/a.txt = a.txt COPY:2"}, issues: []string{"unknown-stage:0"},
		},
		{
			name: "an unknown instruction", dockerfile: "FROM scratch\nCOPPY a.txt /\nCOPY a.txt /\n", context: data,
			want: []string{"/a.txt = a.txt COPY:3"}, issues: []string{"unparsed:2"},
		},
		{
			name: "COPY with one argument", dockerfile: "FROM scratch\n\nCOPY a.txt\nCOPY a.txt /\n", context: data,
			want: []string{"/a.txt = a.txt COPY:4"}, issues: []string{"unparsed:3"},
		},
		{
			name: "an unknown flag", dockerfile: "FROM scratch\nCOPY --form=0 a.txt /\nCOPY a.txt /\n", context: data,
			want: []string{"/a.txt = a.txt COPY:3"}, issues: []string{"unparsed:2"},
		},
		{name: "an open here-document", dockerfile: "FROM scratch\nCOPY <<EOF /x\nnever closed\n", issues: []string{"unparsed:2"}},
		{
			name: "an open quote", dockerfile: "FROM scratch\nCOPY a.txt \"/x\nCOPY a.txt /y\n", context: data,
			want: []string{"/\"/x = a.txt COPY:2", "/y = a.txt COPY:3"}, issues: []string{"unparsed:2"},
		},
	}
}

// TestImageConfiguration covers what is known besides the files.
func TestImageConfiguration(t *testing.T) {
	img, issues := image.Build([]byte(`ARG TAG=3.12
FROM example.org/python:${TAG} AS base
ENV A=1 B="two words"
ARG HIDDEN=x
FROM base AS unused
FROM base
WORKDIR /app
USER app:app
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ONBUILD RUN true
ENTRYPOINT ["python", "main.py"]
CMD serve
COPY --from=tools /x /x
`), nil, image.Options{})
	if len(issues) > 0 {
		t.Fatalf("issues: %v", issues)
	}
	got := map[string]any{
		"base": img.Base, "workdir": img.Workdir, "user": img.User, "shell": img.Shell, "env": img.Env,
		"stages": img.Stages,
	}
	want := map[string]any{
		"base": "example.org/python:3.12", "workdir": "/app", "user": "app:app",
		"shell": []string{"/bin/bash", "-o", "pipefail", "-c"}, "env": map[string]string{"A": "1", "B": "two words"},
		"stages": []image.Stage{
			{Index: 0, Name: "base", Base: "example.org/python:3.12", Line: 2},
			{Index: 1, Name: "unused", Base: "base", Line: 5},
			{Index: 2, Base: "base", Line: 6},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("image (-want +got):\n%s", d)
	}
}
