package shell_test

import (
	"testing"

	"github.com/posttrainarena/arena/gates/shell"
)

// usualVerifier is a verifier of the usual length: paths by default, a check in
// one of two ways, a reward in two formats.
const usualVerifier = `#!/bin/bash
DIR="${BENCHFLOW_VERIFIER_DIR:-/verifier}"
[ -d "$DIR" ] || DIR=/tests
TEXT="${BENCHFLOW_REWARD_TEXT:-/logs/verifier/reward.txt}"
JSON="${BENCHFLOW_REWARD_JSON:-/logs/verifier/reward.json}"
mkdir -p "$(dirname "$TEXT")" "$(dirname "$JSON")"
if command -v pytest >/dev/null 2>&1; then
  pytest -rA "$DIR/test_outputs.py"
else
  apt-get update && apt-get install -y curl
  curl -LsSf https://get.example.org/uv.sh | sh
  uvx --with pytest==8.4.1 pytest -rA "$DIR/test_outputs.py"
fi
CODE=$?
if [ "$CODE" -eq 0 ]; then SCORE=1.0; else SCORE=0.0; fi
printf '%s\n' "$SCORE" > "$TEXT"
python3 - "$SCORE" "$JSON" <<'PY'
import json, sys
with open(sys.argv[2], "w") as f:
    json.dump({"reward": float(sys.argv[1])}, f)
PY
`

func BenchmarkVerifier(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(usualVerifier)))
	for b.Loop() {
		if _, err := shell.Verifier([]byte(usualVerifier), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSolution(b *testing.B) {
	script := []byte("#!/bin/bash\nset -euo pipefail\ncd /app\nfor i in 0 1 2 3; do\n  python3 tools/step.py --input data/in_$i.txt --out output/part_$i.txt\ndone\ncat output/part_* > output/all.txt\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := shell.Solution(script); err != nil {
			b.Fatal(err)
		}
	}
}
