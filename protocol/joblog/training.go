package joblog

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// The bounds of what is kept of the training stage.
const (
	maxSteps  = 1024 // points of the training curve
	maxValues = 96   // numbers of one step
	sameSteps = 64   // how far back a repeated record is recognised
)

// rollout reads the rest of a marker "grpo_rollout_000000_000003: COMMAND". Each
// marker is one attempt, and lets one verdict on its task count. Rollouts run at
// once and a verdict does not say which of them it belongs to, so that is all a
// log can tell (reference/pipeline.md §2.5).
func (s *State) rollout(numbers, command []byte) {
	digits, _ := leadingInt(numbers)
	rest, ok := bytes.CutPrefix(numbers[digits:], []byte("_"))
	if digits, _ = leadingInt(rest); !ok || digits == 0 {
		return
	}
	s.rollouts++
	st := &s.stages[training]
	if t := st.tasks[string(taskOf(command))]; t != nil {
		t.allowed++
	} else {
		st.spare++
	}
}

// taskOf finds the task in a rollout's command: the value of its last --include,
// or --task-id as older pipelines spell it.
func taskOf(command []byte) []byte {
	for _, flag := range [...]string{"--include", "--task-id"} {
		i := bytes.LastIndex(command, []byte(flag))
		if i < 0 {
			continue
		}
		value := bytes.TrimLeft(command[i+len(flag):], " =")
		if end := bytes.IndexByte(value, ' '); end >= 0 {
			value = value[:end]
		}
		return bytes.Trim(value, `'"`)
	}
	return nil
}

// curve is the training curve. When it is full every second point is dropped and
// only every second step is kept from then on, so that it always spans the whole
// training in bounded memory; the latest step is kept besides.
type curve struct {
	points []protocol.TrainingStep
	stride int // every how many steps one is kept
	count  int // steps seen
	last   protocol.TrainingStep
}

// metric is the name of a number of a training step.
func (s *State) metric(key []byte) string {
	name := string(Clean(nil, key))
	if s.expect.Sealed != nil {
		name = s.expect.Sealed.Redact(name)
	}
	return name
}

// step reads the trainer's records on a line, as the Python dictionaries that it
// prints: alone, after a progress bar, or several in a row. A dictionary inside
// other text, such as the harness's "Rewards: {…}", is not the trainer's.
func (s *State) step(at time.Time, b []byte) bool {
	found := false
	for {
		i := bytes.Index(b, []byte("{'"))
		if i < 0 {
			return found
		}
		if before := bytes.TrimSpace(b[:i]); len(before) > 0 && !progressBar(before) {
			return found
		}
		one, isStep := protocol.TrainingStep{At: at, Values: map[string]float64{}}, false
		rest, ok := readDict(b[i:], func(key []byte, v float64) {
			isStep = isStep || string(key) == "loss" || string(key) == "reward"
			switch {
			case len(one.Values)+len(one.NotFinite) >= maxValues:
			case math.IsNaN(v) || math.IsInf(v, 0):
				one.NotFinite = append(one.NotFinite, s.metric(key))
			default:
				one.Values[s.metric(key)] = v
			}
		})
		if !ok {
			return found
		}
		if isStep {
			s.steps.add(one)
			s.why.outlived()
			found = true
		}
		b = rest
	}
}

// add takes a step, whose number it finds, unless it is a repetition of a recent
// one.
func (c *curve) add(one protocol.TrainingStep) {
	same := func(p protocol.TrainingStep) bool {
		return maps.Equal(p.Values, one.Values) && slices.Equal(p.NotFinite, one.NotFinite)
	}
	if c.count > 0 && same(c.last) {
		return
	}
	for i := len(c.points) - 1; i >= max(0, len(c.points)-sameSteps); i-- {
		if same(c.points[i]) {
			return
		}
	}
	one.Step = c.last.Step + 1
	for _, key := range [...]string{"step", "global_step"} {
		if v, ok := one.Values[key]; ok && v == math.Trunc(v) && v > 0 && v <= math.MaxInt32 {
			one.Step = int(v)
		}
	}
	c.last = one
	if c.count%c.stride == 0 {
		if len(c.points) >= maxSteps {
			for i := range maxSteps / 2 {
				c.points[i] = c.points[2*i]
			}
			c.points = c.points[:maxSteps/2]
			c.stride *= 2
		}
		if c.count%c.stride == 0 {
			c.points = append(c.points, c.last)
		}
	}
	c.count++
}

// all returns the kept points and the latest step.
func (c *curve) all() []protocol.TrainingStep {
	out := append([]protocol.TrainingStep{}, c.points...)
	if c.count > 0 && (c.count-1)%c.stride != 0 {
		out = append(out, c.last)
	}
	return out
}
