package engine

import (
	"slices"
	"strings"
	"testing"
)

// What a build made is read from its log; what a step prints cannot make an image of somebody else's look made.
func TestStepsOfABuild(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"two made, one from the cache": {"Step 1/4 : FROM base\n ---> aaaaaaaaaaaa\nStep 2/4 : RUN x\n ---> Running in 111111111111\n ---> bbbbbbbbbbbb\nStep 3/4 : RUN y\n ---> Using cache\n ---> cccccccccccc\nStep 4/4 : COPY a b\n ---> dddddddddddd\n", []string{"bbbbbbbbbbbb", "dddddddddddd"}},
		"a step prints its base":       {"Step 1/2 : FROM base\n ---> aaaaaaaaaaaa\nStep 2/2 : RUN x\n ---> aaaaaaaaaaaa\n ---> bbbbbbbbbbbb\n", []string{"bbbbbbbbbbbb"}},
		"a later stage's base":         {"Step 1/3 : FROM a AS b\n ---> aaaaaaaaaaaa\nStep 2/3 : RUN echo\n ---> cccccccccccc\nStep 3/3 : FROM c\n ---> cccccccccccc\n", nil},
		"another builder":              {"#1 [internal] load\n#5 exporting sha256:aaaaaaaaaaaa\n ---> \n ---> xyz\nStep\n", nil},
		"nothing":                      {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var s steps
			for line := range strings.Lines(c.log) {
				s.line(strings.TrimSuffix(line, "\n"))
			}
			if got := s.ids(); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLayersForgetWhatTheyAreToldTo(t *testing.T) {
	var l layers
	l.add([]string{"bbbbbbbbbbbb", "cccccccccccc"}, "sha256:cccccccccccc0000")
	if !l.has("sha256:bbbbbbbbbbbb1111") || l.has("sha256:cccccccccccc0000") || l.has("") {
		t.Error("a step and a result are not told apart")
	}
	// A result that was a step of an earlier build is somebody's image now.
	l.add(nil, "sha256:bbbbbbbbbbbb1111")
	if l.has("bbbbbbbbbbbb") {
		t.Error("a result is still a step")
	}
	l.add([]string{"dddddddddddd"}, "")
	l.drop("sha256:dddddddddddd2222")
	if l.has("dddddddddddd") {
		t.Error("what was dropped is there")
	}
}
