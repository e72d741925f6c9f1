package image_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/image"
)

// TestRun covers what RUN does to files.
func TestRun(t *testing.T) { runCases(t, runInstructionCases()) }

func runInstructionCases() []buildCase {
	data := []string{"a.txt", "b.txt", "tests/t.py", "tests/deep/u.py", "set.tar=" + tarOf("x/one.txt", "two.txt"), "set.zip=" + zipOf("z/one.txt")}
	return []buildCase{
		{
			name: "removed afterwards", dockerfile: "FROM debian\nCOPY tests /t\nRUN rm -rf /t\n", context: data,
			want: []string{"/t/deep/u.py = tests/deep/u.py COPY:2 removed:3", "/t/t.py = tests/t.py COPY:2 removed:3"},
		},
		{
			name: "removed by pattern", dockerfile: "FROM debian\nWORKDIR /t\nCOPY tests a.txt ./\nRUN rm -f *.py && rm -r de?p\n", context: data,
			want: []string{"/t/a.txt = a.txt COPY:3", "/t/deep/u.py = tests/deep/u.py COPY:3 removed:4", "/t/t.py = tests/t.py COPY:3 removed:4"},
		},
		{
			name: "removed by find", dockerfile: "FROM debian\nCOPY tests /t/\nCOPY a.txt /t/\nRUN find /t -name '*.py' -delete\n", context: data,
			want: []string{"/t/a.txt = a.txt COPY:3", "/t/deep/u.py = tests/deep/u.py COPY:2 removed:4", "/t/t.py = tests/t.py COPY:2 removed:4"},
		},
		{
			name: "removed only perhaps is not removed", dockerfile: "FROM debian\nCOPY a.txt /t/\nRUN if [ -n \"$CLEAN\" ]; then rm /t/a.txt; fi\nRUN test -d /x && rm /t/a.txt || true\n", context: data,
			want: []string{"/t/a.txt = a.txt COPY:2"},
		},
		{
			name: "removed at the end of a chain of commands that must succeed", dockerfile: "FROM debian\nCOPY a.txt /t/\nRUN apt-get update && make all && rm /t/a.txt\n", context: data,
			want: []string{"/t/a.txt = a.txt COPY:2 removed:3"},
		},
		{
			name: "a directory is not removed without -r", dockerfile: "FROM debian\nCOPY tests /t/\nRUN rm -f /t || true\n", context: data,
			want: []string{"/t/deep/u.py = tests/deep/u.py COPY:2", "/t/t.py = tests/t.py COPY:2"},
		},
		{
			name: "made and removed in one layer leaves no trace", dockerfile: "FROM debian\nRUN echo key > /tmp/key && cat /tmp/key && rm /tmp/key\n",
		},
		{
			name: "removed, then copied again", dockerfile: "FROM debian\nCOPY a.txt /x\nRUN rm /x\nCOPY b.txt /x\n", context: data,
			want: []string{"/x = a.txt COPY:2 removed:3", "/x = b.txt COPY:4"},
		},
		{
			name: "moved", dockerfile: "FROM debian\nCOPY tests /build/tests\nRUN mkdir -p /app && mv /build/tests /app/\n", context: data,
			want: []string{
				"/app/tests/deep/u.py = tests/deep/u.py RUN:3", "/app/tests/t.py = tests/t.py RUN:3",
				"/build/tests/deep/u.py = tests/deep/u.py COPY:2 removed:3", "/build/tests/t.py = tests/t.py COPY:2 removed:3",
			},
		},
		{
			name: "renamed", dockerfile: "FROM debian\nCOPY a.txt /app/a.txt\nRUN mv /app/a.txt /app/c.txt\n", context: data,
			want: []string{"/app/a.txt = a.txt COPY:2 removed:3", "/app/c.txt = a.txt RUN:3"},
		},
		{
			name: "copied to another name", dockerfile: "FROM debian\nWORKDIR /app\nCOPY a.txt .\nRUN cp a.txt helper.sh\n", context: data,
			want: []string{"/app/a.txt = a.txt COPY:3", "/app/helper.sh = a.txt RUN:4"},
		},
		{
			name: "copied with directories", dockerfile: "FROM debian\nCOPY tests /t\nRUN cp -r /t /one && mkdir /two && cp -a /t /two && cp -R /t/. /three\n", context: data,
			want: []string{
				"/one/deep/u.py = tests/deep/u.py RUN:3", "/one/t.py = tests/t.py RUN:3",
				"/t/deep/u.py = tests/deep/u.py COPY:2", "/t/t.py = tests/t.py COPY:2",
				"/three/deep/u.py = tests/deep/u.py RUN:3", "/three/t.py = tests/t.py RUN:3",
				"/two/t/deep/u.py = tests/deep/u.py RUN:3", "/two/t/t.py = tests/t.py RUN:3",
			},
		},
		{
			name: "copied into a target directory", dockerfile: "FROM debian\nCOPY a.txt b.txt /s/\nRUN mkdir /d && cp -t /d /s/a.txt /s/b.txt && install -D -m 644 /s/a.txt /e/f/g.txt && install /s/b.txt /d/b2.txt\n", context: data,
			want: []string{
				"/d/a.txt = a.txt RUN:3", "/d/b.txt = b.txt RUN:3", "/d/b2.txt = b.txt RUN:3", "/e/f/g.txt = a.txt RUN:3",
				"/s/a.txt = a.txt COPY:2", "/s/b.txt = b.txt COPY:2",
			},
		},
		{
			name: "a file of the base image", dockerfile: "FROM debian\nRUN mkdir /app && cp /etc/passwd /app/users\n",
			want: []string{"/app/users = - RUN:2"},
		},
		{
			name: "written by redirection", dockerfile: "FROM debian\nENV OUT=/data\nRUN mkdir -p $OUT && echo hi > $OUT/a && printf '%s\\n' x >> ${OUT}/b && cat /etc/hosts | tee /data/c > /data/d && : > /data/e\n",
			want: []string{"/data/a = - RUN:3", "/data/b = - RUN:3", "/data/c = - RUN:3", "/data/d = - RUN:3", "/data/e = - RUN:3"},
		},
		{
			name: "written by a here-document in the shell", dockerfile: "FROM debian\nWORKDIR /app\nRUN cat <<EOF > expected.json\n{\"answer\": 42}\nEOF\n",
			want: []string{"/app/expected.json = - RUN:3"},
		},
		{
			name: "a script as here-document", dockerfile: "FROM debian\nCOPY a.txt /t/\nRUN <<EOF\nset -e\nmkdir -p /app\nmv /t/a.txt /app/\nEOF\n", context: data,
			want: []string{"/app/a.txt = a.txt RUN:6", "/t/a.txt = a.txt COPY:2 removed:6"},
		},
		{
			name: "a line for every command of a long RUN", dockerfile: "FROM debian\nCOPY tests /t\nRUN set -eux; \\\n    apt-get update; \\\n    # now clean up\n    rm /t/t.py; \\\n\n    rm -r /t/deep\n", context: data,
			want: []string{"/t/deep/u.py = tests/deep/u.py COPY:2 removed:8", "/t/t.py = tests/t.py COPY:2 removed:6"},
		},
		{
			name: "several directories by braces", dockerfile: "FROM debian\nRUN mkdir -p /app/{in,out} && touch /app/{in,out}/x /app/y{1..3}\n",
			want: []string{"/app/in/x = - RUN:2", "/app/out/x = - RUN:2", "/app/y1 = - RUN:2", "/app/y2 = - RUN:2", "/app/y3 = - RUN:2"},
		},
		{
			name: "a loop over names", dockerfile: "FROM debian\nCOPY a.txt b.txt /s/\nRUN mkdir /d; for f in a b; do mv /s/$f.txt /d/$f; done\n", context: data,
			want: []string{"/d/a = a.txt RUN:3", "/d/b = b.txt RUN:3", "/s/a.txt = a.txt COPY:2 removed:3", "/s/b.txt = b.txt COPY:2 removed:3"},
		},
		{
			name: "a change of directory", dockerfile: "FROM debian\nCOPY a.txt /s/\nRUN cd /s && mkdir sub && (cd sub && cp ../a.txt .) && cp a.txt c.txt\n", context: data,
			want: []string{"/s/a.txt = a.txt COPY:2", "/s/c.txt = a.txt RUN:3", "/s/sub/a.txt = a.txt RUN:3"},
		},
		{
			name: "changed in place", dockerfile: "FROM debian\nCOPY a.txt b.txt /s/\nRUN sed -i 's/a/b/' /s/a.txt && echo more >> /s/b.txt\n", context: data,
			want: []string{"/s/a.txt = a.txt COPY:2 removed:3", "/s/a.txt = a.txt RUN:3 changed", "/s/b.txt = b.txt COPY:2 removed:3", "/s/b.txt = b.txt RUN:3 changed"},
		},
		{
			name: "touching changes nothing", dockerfile: "FROM debian\nCOPY a.txt /s/\nRUN touch /s/a.txt /s/new\n", context: data,
			want: []string{"/s/a.txt = a.txt COPY:2", "/s/new = - RUN:3"},
		},
		{
			name: "links", dockerfile: "FROM debian\nCOPY a.txt /s/\nRUN ln -s /s/a.txt /bin/tool && ln /s/a.txt /hard\n", context: data,
			want: []string{"/bin/tool = - RUN:3 link", "/hard = a.txt RUN:3", "/s/a.txt = a.txt COPY:2"},
		},
		{
			name: "a zip file that ADD did not unpack", dockerfile: "FROM debian\nADD set.zip /tmp/\nRUN cd /srv && unzip -q /tmp/set.zip\n", context: data,
			want: []string{"/srv/z/one.txt = set.zip!z/one.txt RUN:3", "/tmp/set.zip = set.zip ADD:2"},
		},
		{
			name: "archives that are unpacked", dockerfile: "FROM debian\nCOPY set.tar set.zip /tmp/\nRUN tar -xf /tmp/set.tar -C /opt && cd /srv && unzip -q /tmp/set.zip && rm /tmp/set.*\n", context: data,
			want: []string{
				"/opt/two.txt = set.tar!two.txt RUN:3", "/opt/x/one.txt = set.tar!x/one.txt RUN:3", "/srv/z/one.txt = set.zip!z/one.txt RUN:3",
				"/tmp/set.tar = set.tar COPY:2 removed:3", "/tmp/set.zip = set.zip COPY:2 removed:3",
			},
		},
		{
			name: "downloads", dockerfile: "FROM debian\nWORKDIR /w\nRUN curl -fsSL https://example.org/a.sh -o a.sh && wget -qO b.bin http://example.org/b && curl -LO https://example.org/c.tgz && wget https://example.org/d.txt\n",
			want: []string{"/w/a.sh = - RUN:3 url", "/w/b.bin = - RUN:3 url", "/w/c.tgz = - RUN:3 url", "/w/d.txt = - RUN:3 url"},
		},
		{
			name: "files of inline Python", dockerfile: "FROM python\nRUN python3 -c \"open('/app/truth.txt','w').write('42')\"\nRUN python - <<'EOF'\nfrom pathlib import Path\nout = Path('/app') / 'gold.json'\nout.write_text('{}')\nEOF\n",
			want: []string{"/app/gold.json = - RUN:3", "/app/truth.txt = - RUN:2"},
		},
		{
			name: "exec form", dockerfile: "FROM debian\nCOPY a.txt /s/\nRUN [\"cp\", \"/s/a.txt\", \"/s/$x.txt\"]\nRUN [\"/bin/bash\", \"-c\", \"rm /s/a.txt\"]\n", context: data,
			want: []string{"/s/$x.txt = a.txt RUN:3", "/s/a.txt = a.txt COPY:2 removed:4"},
		},
		{
			name: "another shell", dockerfile: "FROM debian\nCOPY a.txt /s/\nSHELL [\"conda\", \"run\", \"-n\", \"env\", \"/bin/bash\", \"-c\"]\nRUN mv /s/a.txt /s/b.txt\n", context: data,
			want: []string{"/s/a.txt = a.txt COPY:2 removed:4", "/s/b.txt = a.txt RUN:4"},
		},
		{
			name: "a shell that is not followed", dockerfile: "FROM windows\nSHELL [\"powershell\", \"-Command\"]\nRUN Remove-Item x\nCOPY a.txt /\n", context: data,
			want: []string{"/a.txt = a.txt COPY:4"}, issues: []string{"unsupported-shell:3"},
		},
		{
			name: "a script that cannot be parsed", dockerfile: "FROM debian\nRUN echo ok; \\\n  if true; then echo\nCOPY a.txt /\n", context: data,
			want: []string{"/a.txt = a.txt COPY:4"}, issues: []string{"unparsed:2"},
		},
		{
			name: "a bind mount is gone after its RUN, copies stay", dockerfile: "FROM debian\nRUN --mount=type=bind,source=tests,target=/mnt/t mkdir /app && cp /mnt/t/t.py /app/run.py && cp -r /mnt/t /all\n", context: data,
			want: []string{"/all/deep/u.py = tests/deep/u.py RUN:2", "/all/t.py = tests/t.py RUN:2", "/app/run.py = tests/t.py RUN:2"},
		},
		{
			name: "a mount hides what lies below", dockerfile: "FROM debian\nCOPY a.txt /d/x\nRUN --mount=type=bind,source=b.txt,target=/d/x cp /d/x /y\nRUN cp /d/x /z\n", context: data,
			want: []string{"/d/x = a.txt COPY:2", "/y = b.txt RUN:3", "/z = a.txt RUN:4"},
		},
		{
			name: "what is written below a mount is dropped", dockerfile: "FROM debian\nRUN --mount=type=cache,target=/root/.cache --mount=type=bind,target=/src,rw touch /root/.cache/x /src/y /z\n", context: data,
			want: []string{"/z = - RUN:2"},
		},
		{
			name: "a mount of a stage", dockerfile: "FROM scratch AS one\nCOPY a.txt /s/\nFROM debian\nRUN --mount=from=one,source=/s,target=/m cp /m/a.txt /x\n", context: data,
			want: []string{"/x = a.txt RUN:4"},
		},
		{
			name: "the home directory of the user", dockerfile: "FROM debian\nRUN echo x > ~/one\nUSER app\nRUN echo x > \"$HOME/two\"\n",
			want: []string{"/home/app/two = - RUN:4", "/root/one = - RUN:2"},
		},
		{
			name: "an unknown directory is left alone", dockerfile: "FROM debian\nCOPY a.txt /s/\nRUN rm -rf \"$X\"/a.txt && cp /s/a.txt $(mktemp -d)/\n", context: data,
			want: []string{"/s/a.txt = a.txt COPY:2"},
		},
	}
}

// TestContent covers what the files hold.
func TestContent(t *testing.T) {
	img, issues := image.Build([]byte(`FROM debian
ARG WHO=you
COPY data/a.txt /a
COPY <<one <<'two' /h/
hi $WHO
one
hi $WHO
two
RUN echo "n: $WHO" > /echo && cat > /cat <<EOF
line $WHO
EOF
RUN cp /a /b && tar xf /in.tar; true
ADD in.tar /x/
RUN sed -i s/a/b/ /b
`), contextOf([]string{"data/a.txt=from the context", "in.tar=" + tarOf("m.txt")}), image.Options{})
	if len(issues) > 0 {
		t.Fatalf("issues: %v", issues)
	}
	want := map[string]string{
		"/a": "from the context", "/h/one": "hi you\n", "/h/two": "hi $WHO\n", "/echo": "n: you\n", "/cat": "line you\n", "/x/m.txt": "m.txt",
	}
	for target, content := range want {
		if got := contentOf(t, img, target); got != content {
			t.Errorf("%s holds %q, want %q", target, got, content)
		}
	}
	for _, p := range img.Files {
		if p.Target == "/b" && !p.Removed {
			if _, err := p.Content(); !errors.Is(err, image.ErrNoContent) {
				t.Errorf("the content of a changed file is not known, but the error is %v", err)
			}
		}
	}
}

// TestMounts covers the files that a RUN can read without copying them.
func TestMounts(t *testing.T) {
	img, _ := image.Build([]byte(`FROM scratch AS one
COPY a.txt /s/
FROM debian
WORKDIR /w
RUN --mount=type=bind,source=tests,target=m python3 m/t.py
RUN --mount=type=bind,from=one,target=/one --mount=type=secret,id=k --mount=type=cache,target=/c true
RUN --mount=type=bind,from=example.org/tools,source=/x,target=/tools true
`), contextOf([]string{"a.txt", "tests/t.py", "tests/deep/u.py"}), image.Options{})
	if len(img.Files) != 0 {
		t.Errorf("mounted files are not part of the image: %v", describeAll(img.Files))
	}
	wantOpaque := []image.OpaqueRun{{Command: "python3 m/t.py", Program: "/w/m/t.py", Source: "tests/t.py", Paths: []string{"/w/m/t.py"}, Line: 5}}
	if d := cmp.Diff(wantOpaque, img.Opaque); d != "" {
		t.Errorf("opaque (-want +got):\n%s", d)
	}
}

// TestOpaque covers commands that the model does not look into.
func TestOpaque(t *testing.T) {
	img, _ := image.Build([]byte(`FROM python
WORKDIR /app
COPY gen.py /build/gen.py
RUN apt-get update && apt-get install -y curl && pip install x && useradd a
RUN python /build/gen.py --out=data/expected.json --seed 7 && make -C src
RUN eval "$X"
RUN ./configure
`), contextOf([]string{"gen.py"}), image.Options{})
	want := []image.OpaqueRun{
		{Command: "python /build/gen.py --out=data/expected.json --seed 7", Program: "/build/gen.py", Source: "gen.py", Paths: []string{"/build/gen.py", "/app/data/expected.json"}, Line: 5},
		{Command: "make -C src", Line: 5},
		{Command: "eval $X", Line: 6},
		{Command: "./configure", Program: "/app/configure", Line: 7},
	}
	if d := cmp.Diff(want, img.Opaque); d != "" {
		t.Errorf("opaque (-want +got):\n%s", d)
	}
}
