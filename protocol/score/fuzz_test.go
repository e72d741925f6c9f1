package score_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/score"
)

// FuzzReport reads what a job calls its report and holds it against outcomes: it
// never panics, refuses only as evidence that does not hold, names no sealed task,
// and what it accepts are numbers.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"run_name":"challenge-0a1b2c3d4e5f","grpo_ran":true,` + scores(0.25, 0.375) + `}`))
	f.Add([]byte(`{"schema_version":1e999,"score_v2":{"suites":{"tb":{"n_tasks":-1}}}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := score.ParseReport(data)
		if err != nil {
			if !errors.Is(err, protocol.ErrEvidence) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		s, cells, err := score.Collect(expect(8), r, one("ppffffff", "pppfffft"))
		if err != nil {
			e := protocol.AsError(err)
			if !errors.Is(err, protocol.ErrEvidence) || len(e.Fields) == 0 {
				t.Fatalf("refused with %v", err)
			}
			for _, p := range e.Fields {
				if strings.Contains(p.Message+p.Field, "secret-0") && !strings.Contains(string(data), "secret-0") {
					t.Fatalf("it names a sealed task: %+v", p)
				}
			}
			return
		}
		if len(cells) != 8 || s.BaselinePassRate != 0.25 || s.AfterPassRate != 0.375 || math.IsNaN(s.StderrPP) {
			t.Fatalf("it accepts %+v", s)
		}
	})
}
