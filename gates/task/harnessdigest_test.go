package task

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"testing/fstest"
)

func TestHarnessDigest(t *testing.T) {
	files := fstest.MapFS{
		"envs/x/task.md":                {Data: []byte("---\n---\n## prompt\nDo it.\n")},
		"envs/x/a/b":                    {Data: []byte("1")},
		"envs/x/a-b":                    {Data: nil},
		"envs/x/é":                      {Data: []byte("2"), Mode: 0o755},
		"envs/x/.benchflow-source.json": {Data: []byte("{}")},
		"envs/x/oracle/solve.sh":        {Data: []byte("#!/bin/bash\ntrue\n")},
	}
	tree, err := ReadTree(files, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	col, _ := ReadPackages(tree, "", DefaultLimits())
	if len(col.Packages) != 1 {
		t.Fatalf("%d packages", len(col.Packages))
	}
	p := &col.Packages[0]
	// The layout in full: path, zero byte, the content's hash.
	digest := func(solve string) string {
		h := sha256.New()
		for _, f := range [][2]string{{"a-b", ""}, {"a/b", "1"}, {"oracle/solve.sh", solve}, {"task.md", "---\n---\n## prompt\nDo it.\n"}, {"é", "2"}} {
			sum := sha256.Sum256([]byte(f[1]))
			h.Write([]byte(f[0] + "\x00"))
			h.Write(sum[:])
		}
		return "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	for _, c := range []struct {
		replaced map[string]string
		want     string
	}{
		{nil, digest("#!/bin/bash\ntrue\n")},
		{map[string]string{"oracle/solve.sh": "exit 0\n"}, digest("exit 0\n")},
	} {
		if got, err := p.HarnessDigest(c.replaced); err != nil || got != c.want {
			t.Errorf("with %v: %s, %v; want %s", c.replaced, got, err, c.want)
		}
	}
	delete(files, "envs/x/a/b") // listed, and not there
	if got, err := p.HarnessDigest(nil); err != nil || got != "" {
		t.Errorf("with a file that is gone: %q, %v", got, err)
	}
}
