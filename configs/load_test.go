package configs_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/configs"
)

// dir makes a configuration directory out of names and texts.
func dir(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// original returns one of the files that are embedded.
func original(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDefaultNeedsNothingFromOutside(t *testing.T) {
	cfg, err := configs.Default()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Arena.Providers.Default != "simulated" || cfg.Arena.Identity.Mode != "local" {
		t.Errorf("provider %q and identity %q, want simulated and local", cfg.Arena.Providers.Default, cfg.Arena.Identity.Mode)
	}
	for id, s := range cfg.Suites {
		if s.Sealed.From != configs.FromFixture {
			t.Errorf("suite %s comes from %s, want the fixture", id, s.Sealed.From)
		}
	}
	if c := cfg.Challenges["tb2-9b"]; c.Status != "open" || c.RunsPaused != "" || c.Role != "smoke test" {
		t.Errorf("tb2-9b is %q, paused %q, role %q; want an open smoke test", c.Status, c.RunsPaused, c.Role)
	}
	if c := cfg.Challenges["skillsbench-9b"]; c.Status != "open" || c.RunsPaused == "" {
		t.Errorf("skillsbench-9b is %q, paused %q; want open with runs paused", c.Status, c.RunsPaused)
	}
	if c := cfg.Challenges["terminal-35b"]; c.Status != "planned" {
		t.Errorf("terminal-35b is %q, want planned", c.Status)
	}
}

// TestArenaIsLaidOverKeyByKey shows the few lines that turn the embedded arena
// into a real one.
func TestArenaIsLaidOverKeyByKey(t *testing.T) {
	cfg, err := configs.Load(dir(map[string]string{"arena.toml": `
[budget]
cap = 1200.50            # a number is as good as a string
[identity]
mode = "hub"
[providers]
default = "huggingface"
[flavors.a100x8]
price_per_hour = "21"
[flavors.l4]
description = "one L4"
gpus = 1
price_per_hour = 1
[suites.tb2-sealed-32]
from = "directory"
path = "/srv/sealed"
`}))
	if err != nil {
		t.Fatal(err)
	}
	a := cfg.Arena
	got := []any{a.Budget, a.Identity.Mode, a.Identity.EditorOrganization, a.Providers.Default, a.Flavors["a100x8"], a.Flavors["l4"], a.Suites["tb2-sealed-32"], a.Server.Listen}
	want := []any{
		configs.Budget{Cap: "1200.50", PriorAllowance: "0"},
		"hub",
		"benchflow", // still the default's
		"huggingface",
		configs.Flavor{Description: "8 × NVIDIA A100, 80 GB each", GPUs: 8, PricePerHour: "21"},
		configs.Flavor{Description: "one L4", GPUs: 1, PricePerHour: "1"},
		configs.SealedSource{From: "directory", Path: "/srv/sealed"},
		"127.0.0.1:7860",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("laid over (-want +got):\n%s", diff)
	}
}

func TestFragmentsAreReplacedWholeOrAdded(t *testing.T) {
	text := strings.Replace(original(t, "challenges/tb2-9b.toml"), `"Terminal-Bench 2.0 subset, 9B"`, `"Ours"`, 1)
	cfg, err := configs.Load(dir(map[string]string{"challenges/tb2-9b.toml": text, "challenges/extra.toml": text, "challenges/README.md": "ignored"}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"extra", "skillsbench-9b", "tb2-9b", "terminal-35b"}
	if got := slices.Sorted(maps.Keys(cfg.Challenges)); !slices.Equal(got, want) {
		t.Errorf("challenges %v, want %v", got, want)
	}
	for _, id := range []string{"tb2-9b", "extra"} {
		if c := cfg.Challenges[id]; c.Title != "Ours" || c.ID != id {
			t.Errorf("challenge %s has title %q and id %q", id, c.Title, c.ID)
		}
	}
}

func TestProblems(t *testing.T) {
	edit := func(file string, changes ...string) map[string]string {
		text := original(t, file)
		for i := 0; i < len(changes); i += 2 {
			if !strings.Contains(text, changes[i]) {
				t.Fatalf("%s does not contain %q", file, changes[i])
			}
			text = strings.Replace(text, changes[i], changes[i+1], 1)
		}
		return map[string]string{file: text}
	}
	arena := func(text string) map[string]string { return map[string]string{"arena.toml": text} }
	tests := []struct {
		name  string
		files map[string]string
		want  []string // problems, in order; a trailing … stands for any rest
	}{
		{
			"an unknown key comes with its place and the nearest known one",
			arena("[server]\n  lisen = \"127.0.0.1:1\"\n"),
			[]string{`arena.toml:2:3: server.lisen: is not a known key; did you mean "listen"?`},
		},
		{
			"an unknown table is reported at its header",
			arena("[bugdet]\ncap = 1\n"),
			[]string{`arena.toml:1:2: bugdet: is not a known key; did you mean "budget"?`},
		},
		{
			"an unknown key far from all others lists what is known",
			arena("[budget]\nquarterly = 1\n"),
			[]string{`arena.toml:2:1: budget.quarterly: is not a known key; known are cap, prior_allowance`},
		},
		{
			"every mistake of a file is reported, not only the first",
			arena("[server]\nlisten = 7860\n[limits]\njson_body_bytes = \"1 MiB\"\nvalidations_per_huor = 3\n[providers.simulated]\nspeed = \"fast\"\n[providers.local]\ncommand = [1]\n"),
			[]string{
				`arena.toml:2:10: server.listen: must be a string, not an integer`,
				`arena.toml:4:19: limits.json_body_bytes: must be a whole number, not a string`,
				`arena.toml:5:1: limits.validations_per_huor: is not a known key; did you mean "validations_per_hour"?`,
				`arena.toml:7:9: providers.simulated.speed: must be a number, not a string`,
				`arena.toml:9:12: providers.local.command: must be a list in which each item is a string, not an integer`,
			},
		},
		{
			"a table where a value belongs",
			arena("[server.listen]\nport = 1\n[budget]\ncap = \"1\"\nprio = 1\n"),
			[]string{
				`arena.toml:1:2: server.listen: cannot store a table in a string`,
				`arena.toml:5:1: budget.prio: is not a known key; known are cap, prior_allowance`,
			},
		},
		{
			"a file that is not TOML",
			arena("[server\nlisten = 1\n"),
			[]string{`arena.toml:1:8: is not TOML: …`},
		},
		{
			"mistakes in several files",
			map[string]string{"arena.toml": "[server]\nx = 1\n", "models/other.toml": "basis = 1\n"},
			[]string{
				`arena.toml:2:1: server.x: is not a known key; known are base_url, frame_ancestors, listen`,
				`models/other.toml:1:9: basis: must be a string, not an integer`,
			},
		},
		{
			"a required key that is missing",
			edit("challenges/tb2-9b.toml", "title = ", "# title = ", "timeout_seconds = 28_800\n", "", "pass_rate = 0.104167\n", ""),
			[]string{
				`challenges/tb2-9b.toml: title: is missing`,
				`challenges/tb2-9b.toml:…: compute.timeout_seconds: is missing`,
				`challenges/tb2-9b.toml:…: baseline.pass_rate: is missing`,
			},
		},
		{
			"sites that no policy can name",
			arena("[server]\nframe_ancestors = [\"https://huggingface.co\", \"https://a.example.org:8443\", \"http://a.example.org\", \"https://*.example.org\", \"https://a.example.org/\", \"https://a.example.org; script-src *\", \"'self'\", \"*\"]\n"),
			[]string{
				`arena.toml:2:1: server.frame_ancestors: names "http://a.example.org", which is no origin; write https://HOST without a path, such as https://huggingface.co`,
				`arena.toml:2:1: server.frame_ancestors: names "https://*.example.org", which is no origin; write https://HOST without a path, such as https://huggingface.co`,
				`arena.toml:2:1: server.frame_ancestors: names "https://a.example.org/", which is no origin; write https://HOST without a path, such as https://huggingface.co`,
				`arena.toml:2:1: server.frame_ancestors: names "https://a.example.org; script-src *", which is no origin; write https://HOST without a path, such as https://huggingface.co`,
				`arena.toml:2:1: server.frame_ancestors: names "'self'", which is no origin; write https://HOST without a path, such as https://huggingface.co`,
				`arena.toml:2:1: server.frame_ancestors: names "*", which is no origin; write https://HOST without a path, such as https://huggingface.co`,
			},
		},
		{
			"fragments that do not exist",
			edit("challenges/tb2-9b.toml", `"qwen3.5-9b"`, `"qwen3.5-8b"`, `"grpo-v1"`, `"dpo"`, `["tb2-sealed-32"]`, `["tb2-sealed-31", "tb2-86", "tb2-86"]`, `"terminal"`, `"terminus"`),
			[]string{
				`challenges/tb2-9b.toml:…: track: there is no track "terminus"; did you mean "terminal"?`,
				`challenges/tb2-9b.toml:…: binding.model: there is no model "qwen3.5-8b"; did you mean "qwen3.5-9b"?`,
				`challenges/tb2-9b.toml:…: binding.method: there is no method "dpo"; known are grpo-v1, grpo-v2`,
				`challenges/tb2-9b.toml:…: binding.suites: there is no suite "tb2-sealed-31"; did you mean "tb2-sealed-32"?`,
				`challenges/tb2-9b.toml:…: binding.suites: names the suite "tb2-86" twice`,
			},
		},
		{
			"a source for a suite that does not exist",
			arena("[suites.tb2-sealed-33]\nfrom = \"fixture\"\n"),
			[]string{`arena.toml:1:2: suites.tb2-sealed-33: there is no suite "tb2-sealed-33"; did you mean "tb2-sealed-32"?`},
		},
		{
			"no suite at all",
			edit("challenges/tb2-9b.toml", `["tb2-sealed-32"]`, `[]`),
			[]string{`challenges/tb2-9b.toml:…: binding.suites: names no suite`},
		},
		{
			"a challenge called like a track",
			map[string]string{"challenges/skillsbench.toml": original(t, "challenges/skillsbench-9b.toml")},
			[]string{`challenges/skillsbench.toml: a challenge and a track are both called "skillsbench", so a submission to it would be ambiguous`},
		},
		{
			"known issues that share an id, or whose pattern is none",
			map[string]string{"known_issues.toml": "[[issue]]\nid = \"a\"\npattern = '('\nclass = \"limit\"\nsentence = \"\"\nadvice = \"\"\n[[issue]]\nid = \"a\"\npattern = ''\nclass = \"limit\"\nsentence = \"\"\n"},
			[]string{
				"known_issues.toml:3:1: issue[0].pattern: is not a regular expression: error parsing regexp: missing closing ): `(`",
				`known_issues.toml:7:3: issue[1].advice: is missing`,
				`known_issues.toml:8:1: issue[1].id: "a" is already the id of entry 1`,
				`known_issues.toml:9:1: issue[1].pattern: is empty and would explain every run; write what the reason says`,
			},
		},
		{
			"files that nothing reads",
			map[string]string{"arnea.toml": "", "challenge/x.toml": "", "notes/deep/x.toml": "", "methods/sub/y.toml": ""},
			[]string{
				`arnea.toml: is not a file of a configuration; did you mean "arena.toml"?`,
				`challenge/x.toml: is not in a folder of a configuration; did you mean "challenges"?`,
				`methods/sub/y.toml: is not in a folder of a configuration; known are challenges, methods, models, suites`,
				`notes/deep/x.toml: is not in a folder of a configuration; known are challenges, methods, models, suites`,
			},
		},
		{
			"a file name that is no id",
			map[string]string{"models/My Model.toml": original(t, "models/qwen3.5-9b.toml")},
			[]string{`models/My Model.toml: the name of the file is the fragment's id and must be of a-z 0-9 . and -, at most 64 characters`},
		},
		{
			"a key without end",
			arena("[" + strings.Repeat("a.", 20) + "a]\n"),
			[]string{`arena.toml:1:2: has more than 2000 keys, or a key of more than 16 parts`},
		},
		{
			"a file that is too large",
			map[string]string{"arena.toml": strings.Repeat("#\n", 32<<10) + "#"},
			[]string{`arena.toml: is larger than 65536 bytes`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := configs.Load(dir(tt.files))
			var problems configs.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("Load: %v, want problems", err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			ok := len(got) == len(tt.want)
			for i := range min(len(got), len(tt.want)) {
				ok = ok && matches(tt.want[i], got[i])
			}
			if !ok {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// matches compares a problem with a text in which … stands for anything.
func matches(want, got string) bool {
	parts := strings.Split(want, "…")
	if !strings.HasPrefix(got, parts[0]) {
		return false
	}
	got = got[len(parts[0]):]
	for i, part := range parts[1:] {
		at := strings.Index(got, part)
		if i == len(parts)-2 && part == "" {
			return true
		}
		if at < 0 {
			return false
		}
		got = got[at+len(part):]
	}
	return got == ""
}

func TestUnreadableDirectory(t *testing.T) {
	_, err := configs.Load(broken{})
	if err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("Load of a directory that cannot be read: %v", err)
	}
}

// broken is a directory on a disk that fails.
type broken struct{}

func (broken) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("input/output error")}
}

func TestDollarsKeepWhatWasWritten(t *testing.T) {
	for written, want := range map[string]configs.Dollars{
		`"159.9998"`: "159.9998",
		`159.9998`:   "159.9998",
		`19.999975`:  "19.999975",
		`1_000`:      "1000",
		`0.1`:        "0.1",
	} {
		cfg, err := configs.Load(dir(map[string]string{"arena.toml": "[budget]\ncap = " + written + "\n"}))
		if err != nil {
			t.Errorf("cap = %s: %v", written, err)
		}
		if cfg.Arena.Budget.Cap != want {
			t.Errorf("cap = %s reads as %q, want %q", written, cfg.Arena.Budget.Cap, want)
		}
	}
}
