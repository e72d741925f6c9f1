package compose

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/posttrainarena/arena/configs"
)

func TestLayout(t *testing.T) {
	flavors := map[string]configs.Flavor{"a100x8": {GPUs: 8}, "a100x4": {GPUs: 4}}
	model := func(s configs.Serving) configs.Model {
		m := configs.Model{Model: configs.ModelInfo{ID: "example/m", MaxContext: 32768, AttentionHeads: 16, KVHeads: 4}}
		m.Meta.Serving = s
		return m
	}
	good := configs.Serving{Flavor: "a100x8", ServingGPUs: "4-7", TrainerGPUs: "0-3", TensorParallel: 2, TrainContext: 16384, EvalContext: 24576}
	tests := []struct {
		name   string
		change func(s *configs.Serving)
		want   string // part of the only problem; empty when it works
	}{
		{"works", func(*configs.Serving) {}, ""},
		{"one replica over all devices", func(s *configs.Serving) { s.TensorParallel = 4 }, ""},
		{"replicas that repeat key/value heads", func(s *configs.Serving) {
			s.ServingGPUs, s.TrainerGPUs, s.TensorParallel = "0-7", "", 8
		}, "the devices of the trainer are not named"},
		{"hardware that nobody knows", func(s *configs.Serving) { s.Flavor = "a1000x8" }, `"a1000x8" is not among the flavors of arena.toml (a100x4, a100x8)`},
		{"fewer GPUs than used", func(s *configs.Serving) { s.Flavor = "a100x4" }, "the model server uses device 7, but a100x4 has 4 GPUs (0-3)"},
		{"trainer beyond the node", func(s *configs.Serving) { s.TrainerGPUs = "0-2,8" }, "the trainer uses device 8, but a100x8 has 8 GPUs (0-7)"},
		{"a shared device", func(s *configs.Serving) { s.TrainerGPUs = "0-4" }, "device 4 is given to the model server (4-7) and to the trainer (0-4)"},
		{"not a list", func(s *configs.Serving) { s.TrainerGPUs = "all" }, `the devices of the trainer are "all", which is not a list`},
		{"a range backwards", func(s *configs.Serving) { s.TrainerGPUs = "3-0" }, "not a list such as 0-3"},
		{"a device twice", func(s *configs.Serving) { s.TrainerGPUs = "0-2,1" }, "names device 1 twice"},
		{"replicas of unequal size", func(s *configs.Serving) { s.ServingGPUs = "5-7" }, "tensor parallelism of 2 does not divide the 3 devices of the model server"},
		{"heads that cannot be shared out", func(s *configs.Serving) { s.ServingGPUs, s.TensorParallel = "5-7", 3 }, "tensor parallelism of 3 does not divide the 16 attention heads of example/m"},
		{"no parallelism", func(s *configs.Serving) { s.TensorParallel = 0 }, "tensor parallelism must be 1 or more"},
		{"a training context above the model's", func(s *configs.Serving) { s.TrainContext = 40000 }, "a context of 40000 tokens is above the 32768 that example/m was built for"},
		{"an evaluation context above the model's", func(s *configs.Serving) { s.EvalContext = 32769 }, "a context of 32769 tokens is above the 32768"},
		{"no context", func(s *configs.Serving) { s.EvalContext = 0 }, "the length of an attempt's context is not set"},
		{"a trainer that looks at more than there is", func(s *configs.Serving) { s.TrainContext = 4096 }, "below runtime.max_completion_length, 8192"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := good
			tt.change(&s)
			_, problems := layout(model(s), configs.Method{Runtime: configs.Runtime{MaxCompletionLength: 8192}}, flavors)
			switch {
			case tt.want == "" && len(problems) > 0:
				t.Errorf("refused: %v", problems)
			case tt.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, tt.want)):
				t.Errorf("problems %v, want one with %q", problems, tt.want)
			}
		})
	}
}

func TestKeyValueHeads(t *testing.T) {
	for tp, ok := range map[int]bool{1: true, 2: true, 4: true, 8: true, 6: false} {
		var problems []string
		report := func(_, format string, _ ...any) { problems = append(problems, format) }
		parallel(report, tp, tp, configs.ModelInfo{ID: "example/m", AttentionHeads: 24, KVHeads: 4})
		if (len(problems) == 0) != ok {
			t.Errorf("tensor parallelism of %d over 4 key/value heads: %v", tp, problems)
		}
	}
}

// TestMethodOverridesModel: the method's word on serving counts where it has one.
func TestMethodOverridesModel(t *testing.T) {
	var model configs.Model
	model.Model = configs.ModelInfo{ID: "example/m", MaxContext: 32768, AttentionHeads: 16, KVHeads: 4}
	model.Meta.Serving = configs.Serving{Flavor: "a100x8", ServingGPUs: "4", TrainerGPUs: "0-3", TensorParallel: 1, TrainContext: 1, EvalContext: 1}
	var method configs.Method
	method.Meta.Serving = configs.Serving{ServingGPUs: "4-5", TensorParallel: 2, TrainContext: 2048, EvalContext: 4096}
	got, problems := layout(model, method, map[string]configs.Flavor{"a100x8": {GPUs: 8}})
	want := configs.Serving{Flavor: "a100x8", ServingGPUs: "4-5", TrainerGPUs: "0-3", TensorParallel: 2, TrainContext: 2048, EvalContext: 4096}
	if got != want || len(problems) > 0 {
		t.Errorf("merged to %+v with problems %v, want %+v", got, problems, want)
	}
}

// TestLayoutProblemDoesNotStopTheArena: the challenge is listed with the reason.
func TestLayoutProblemDoesNotStopTheArena(t *testing.T) {
	cfg, err := configs.Default()
	if err != nil {
		t.Fatal(err)
	}
	m := cfg.Models["qwen3.5-9b"]
	m.Meta.Serving.TrainerGPUs = "0-4"
	cfg.Models["qwen3.5-9b"] = m
	rows, err := Challenges(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rows {
		broken := c.BaseModel.RepoID == m.Model.ID
		if broken != (c.LayoutProblem != "") {
			t.Errorf("challenge %s has the layout problem %q", c.ID, c.LayoutProblem)
		}
	}
	if err := Check(cfg); err == nil || !strings.Contains(err.Error(), "models/qwen3.5-9b.toml:") {
		t.Errorf("Check does not point at the model's file: %v", err)
	}
}

func TestDevicesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfNDistinct(rapid.IntRange(0, maxDevices-1), 1, 16, rapid.ID[int]).Draw(t, "devices")
		slices.Sort(want)
		got, err := parseDevices(ranges(want))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v written as %s reads back as %v, %v", want, ranges(want), got, err)
		}
	})
}

// ranges writes a sorted list with runs shortened to a-b.
func ranges(devices []int) string {
	var parts []string
	for i := 0; i < len(devices); {
		j := i
		for j+1 < len(devices) && devices[j+1] == devices[j]+1 {
			j++
		}
		part := number(devices[i])
		if j > i {
			part += "-" + number(devices[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func number(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return number(n/10) + number(n%10)
}

func FuzzDevices(f *testing.F) {
	for _, s := range []string{"", "4", "0-3", "0,2,4-6", "0-99999999999999999999", "-1", "1-", ",", "0-63,0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		devices, err := parseDevices(list)
		if (err == nil) != (len(devices) > 0) {
			t.Errorf("%q: devices %v, error %v", list, devices, err)
		}
		seen := map[int]bool{}
		for _, d := range devices {
			if d < 0 || d >= maxDevices || seen[d] {
				t.Errorf("%q: device %d is out of range or there twice", list, d)
			}
			seen[d] = true
		}
	})
}
