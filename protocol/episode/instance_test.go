package episode

import (
	"strings"
	"testing"
)

func TestParseInstance(t *testing.T) {
	good := `{"task_id":"a","dataset_type":"terminal_bench","workdir":"/app","verifier":["sh","/tests/test.sh"]}`
	i, err := ParseInstance([]byte(good))
	if err != nil || i.Reward != "file" || i.ShellSeconds != 600 || i.VerifySeconds != 900 || len(i.Guard) == 0 {
		t.Errorf("got %+v, %v", i, err)
	}
	if i, err := ParseInstance([]byte(strings.Replace(good, "terminal_bench", OpenSourceCode, 1))); err != nil || i.Reward != "exit" {
		t.Errorf("got %+v, %v", i, err)
	}
	for change, want := range map[string]string{
		`"task_id":"a"=>"task_id":""`:                "task_id",
		`terminal_bench=>terminal`:                   "dataset_type",
		`"workdir":"/app"=>"workdir":"app"`:          "workdir",
		`"workdir":"/app"=>"workdir":"/"`:            "workdir",
		`"workdir":"/app"=>"workdir":"/opt"`:         "server's",
		`"workdir":"/app"=>"workdir":"/etc/x"`:       "system's",
		`"workdir":"/app"=>"workdir":"/app/../x"`:    "workdir",
		`["sh","/tests/test.sh"]=>[]`:                "verifier",
		`"workdir"=>"shell_seconds":-1,"workdir"`:    "shell_seconds",
		`"workdir"=>"verify_seconds":1801,"workdir"`: "verify_seconds",
		`"workdir"=>"guard":["["],"workdir"`:         "guard",
		`"workdir"=>"guard":["a/b"],"workdir"`:       "guard",
		`"workdir"=>"reward":"luck","workdir"`:       "reward",
		`"workdir"=>"work_dir":1,"workdir"`:          "work_dir",
		`}=>`:                                        "instance file",
	} {
		from, to, _ := strings.Cut(change, "=>")
		if _, err := ParseInstance([]byte(strings.Replace(good, from, to, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
}

func TestGuards(t *testing.T) {
	i := Instance{Guard: []string{"conftest.py", "*.pth", "/app/data", "/app/*/Makefile"}}
	for name, want := range map[string]bool{
		"/app/conftest.py": true, "/home/agent/x/conftest.py": true, "/tmp/a.pth": true, "/app/data": true, "/app/data/deep/er": true, "/app/x/Makefile": true,
		"/app/conftest.pyc": false, "/app/database": false, "/app/x/y/Makefile": false, "/": false,
	} {
		if got := i.guards(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// However much a command writes, and whatever, the answer stays below what a
// client takes: 1 MiB, with JSON's six bytes for one.
func TestOutputIsBounded(t *testing.T) {
	var c clip
	if _, err := c.Write([]byte("begin\n")); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := c.Write([]byte(strings.Repeat("\x01", 4096))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Write([]byte("\xff\nend")); err != nil {
		t.Fatal(err)
	}
	s := c.String()
	if len(s)*6 > 1<<20 || !strings.HasPrefix(s, "begin\n") || !strings.HasSuffix(s, "\uFFFD\nend") || !strings.Contains(s, "bytes are left out here") {
		t.Errorf("%d bytes, %q … %q", len(s), s[:20], s[len(s)-20:])
	}
	var small clip
	_, _ = small.Write([]byte("all of it"))
	if small.String() != "all of it" {
		t.Errorf("%q", small.String())
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"type":"reset","data":{"task_id":"a"}}`, `{"type":"step","data":{"operation":"shell","command":"ls"}}`, `{"type":"state"}`, `{"type":"close","data":null}`, `[]`, `{"type":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, wrong := parse(frame)
		if wrong == nil && r.kind == "" {
			t.Error("understood, and of no kind")
		}
		if wrong == nil && r.kind == typeStep && strings.ContainsRune(r.action.command, 0) {
			t.Error("a NUL byte came through")
		}
		_ = rpc(frame)
	})
}
