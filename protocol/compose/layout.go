package compose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posttrainarena/arena/configs"
)

// maxDevices bounds the numbers in a device list.
const maxDevices = 64

// layout merges what a model and a method say about serving (the method's word
// counts where it has one) and reports why the result cannot work: more devices
// than the node has, devices used twice, tensor parallelism that does not divide
// what it has to, contexts longer than the model's.
func layout(model configs.Model, method configs.Method, flavors map[string]configs.Flavor) (configs.Serving, configs.Problems) {
	own, over := model.Meta.Serving, method.Meta.Serving
	s := configs.Serving{
		Flavor:         cmp.Or(over.Flavor, own.Flavor),
		ServingGPUs:    cmp.Or(over.ServingGPUs, own.ServingGPUs),
		TrainerGPUs:    cmp.Or(over.TrainerGPUs, own.TrainerGPUs),
		TensorParallel: cmp.Or(over.TensorParallel, own.TensorParallel),
		TrainContext:   cmp.Or(over.TrainContext, own.TrainContext),
		EvalContext:    cmp.Or(over.EvalContext, own.EvalContext),
	}
	var problems configs.Problems
	report := func(key, format string, args ...any) {
		key = "meta.serving." + key
		origin := model.Origin
		if method.Origin.Has(key) {
			origin = method.Origin
		}
		problems = append(problems, origin.Problem(key, format, args...))
	}
	flavor, known := flavors[s.Flavor]
	if !known {
		report("flavor", "the hardware %q is not among the flavors of arena.toml (%s)", s.Flavor, strings.Join(slices.Sorted(maps.Keys(flavors)), ", "))
	}
	serving := fits(report, "serving_gpus", "model server", s.ServingGPUs, s.Flavor, flavor, known)
	trainer := fits(report, "trainer_gpus", "trainer", s.TrainerGPUs, s.Flavor, flavor, known)
	for _, d := range serving {
		if slices.Contains(trainer, d) {
			report("serving_gpus", "device %d is given to the model server (%s) and to the trainer (%s)", d, s.ServingGPUs, s.TrainerGPUs)
			break
		}
	}
	parallel(report, s.TensorParallel, len(serving), model.Model)
	contexts(report, s, model.Model, method.Runtime.MaxCompletionLength)
	return s, problems
}

// reporter takes a problem with a serving value.
type reporter func(key, format string, args ...any)

// fits reads the devices of one party and reports those that the node lacks.
func fits(report reporter, key, party, list, name string, flavor configs.Flavor, known bool) []int {
	devices, err := parseDevices(list)
	switch {
	case err != nil:
		report(key, "the devices of the %s are %v", party, err)
	case known && slices.Max(devices) >= flavor.GPUs:
		report(key, "the %s uses device %d, but %s has %d GPUs (0-%d)", party, slices.Max(devices), name, flavor.GPUs, flavor.GPUs-1)
	}
	return devices
}

// parallel reports tensor parallelism that does not work: every replica of the
// server takes that many devices, and each device an equal share of the heads.
func parallel(report reporter, n, devices int, model configs.ModelInfo) {
	switch {
	case n < 1:
		report("tensor_parallel", "tensor parallelism must be 1 or more, not %d", n)
	case devices > 0 && devices%n != 0:
		report("tensor_parallel", "tensor parallelism of %d does not divide the %d devices of the model server", n, devices)
	case model.AttentionHeads > 0 && model.AttentionHeads%n != 0:
		report("tensor_parallel", "tensor parallelism of %d does not divide the %d attention heads of %s", n, model.AttentionHeads, model.ID)
	case model.KVHeads > 0 && model.KVHeads%n != 0 && n%model.KVHeads != 0:
		report("tensor_parallel", "tensor parallelism of %d neither divides nor is a multiple of the %d key/value heads of %s", n, model.KVHeads, model.ID)
	}
}

// contexts reports context lengths that the model or the recipe rules out.
func contexts(report reporter, s configs.Serving, model configs.ModelInfo, completion int) {
	for _, c := range []struct {
		key   string
		limit int
	}{{"train_context", s.TrainContext}, {"eval_context", s.EvalContext}} {
		switch {
		case c.limit < 1:
			report(c.key, "the length of an attempt's context is not set")
		case c.limit > model.MaxContext:
			report(c.key, "a context of %d tokens is above the %d that %s was built for", c.limit, model.MaxContext, model.ID)
		}
	}
	if s.TrainContext > 0 && completion > s.TrainContext {
		report("train_context", "a training context of %d tokens is below runtime.max_completion_length, %d", s.TrainContext, completion)
	}
}

// parseDevices reads a list of GPU numbers such as 4, 0-3 or 0,2,4-6. It returns
// at least one device, each once, or an error that continues "the devices are".
func parseDevices(list string) ([]int, error) {
	if strings.TrimSpace(list) == "" {
		return nil, fmt.Errorf("not named; write a list such as 0-3 or 4,5")
	}
	var devices []int
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, err := strconv.ParseUint(low, 10, 8)
		to, err2 := strconv.ParseUint(high, 10, 8)
		if err != nil || err2 != nil || from > to || to >= maxDevices {
			return nil, fmt.Errorf("%q, which is not a list such as 0-3 or 4,5", list)
		}
		for d := int(from); d <= int(to); d++ {
			if slices.Contains(devices, d) {
				return nil, fmt.Errorf("%q, which names device %d twice", list, d)
			}
			devices = append(devices, d)
		}
	}
	return devices, nil
}
