# What the job of a run executes. It is the same for every run: everything that
# differs comes by environment, and secrets by environment too, so none is here.
set -euo pipefail
mkdir -p /tmp/arena && cd /tmp/arena
retry() { local n; for n in 1 2 3 4 5; do "$@" && return 0; sleep $((n * n)); done; return 1; }
wait_for() { # URL PID: until the URL answers or the process is gone
  until curl -fsS -o /dev/null "$1" 2>/dev/null; do kill -0 "$2" 2>/dev/null || return 1; sleep 3; done
}

# The run's files, at the commit that the arena made for it.
retry hf download --quiet --repo-type dataset --revision "$ARENA_BUNDLE_REVISION" --include "$ARENA_BUNDLE_PATH/*" --local-dir bundle "$ARENA_BUNDLE_REPO"
bundle="$PWD/bundle/$ARENA_BUNDLE_PATH"

# The pipeline, at the commit that the challenge pins.
[ -d pipeline ] || retry git clone --quiet "https://github.com/$ARENA_PIPELINE_REPO" pipeline
git -C pipeline checkout --quiet "$ARENA_PIPELINE_REF"
echo "pipeline ref $ARENA_PIPELINE_REF at $(git -C pipeline rev-parse --short HEAD)"
python3 -m pip install --quiet ./pipeline/pipelines/benchflow-task-posttrain

# The model, on devices of its own.
CUDA_VISIBLE_DEVICES="$ARENA_SERVING_GPUS" trl vllm-serve --model "$ARENA_MODEL" --revision "$ARENA_MODEL_REVISION" \
  --tensor_parallel_size "$ARENA_TENSOR_PARALLEL" --max_model_len "$ARENA_CONTEXT" --host 127.0.0.1 --port 8000 >vllm.log 2>&1 &
vllm=$!
wait_for http://127.0.0.1:8000/health/ "$vllm" || { echo VLLM_FAILED; tail -n 40 vllm.log; exit 1; }
echo "vllm up"
export TRL_VLLM_SERVER_BASE_URL=http://127.0.0.1:8000

# The bridge in front of it, which speaks OpenAI's interface and keeps the log
# probabilities that training needs. Its key never leaves the job.
export ARENA_MODEL_KEY
ARENA_MODEL_KEY="$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')"
BENCHFLOW_MODEL_BRIDGE_API_KEY="$ARENA_MODEL_KEY" python3 -m posttrainarena.benchflow_pipeline.model_bridge --host 127.0.0.1 --port 8001 >bridge.log 2>&1 &
bridge=$!
wait_for http://127.0.0.1:8001/health "$bridge" || { echo "bridge failed"; tail -n 40 bridge.log; exit 1; }
echo "bridge up"

# The tunnel, so that sandboxes elsewhere can call it.
retry curl -fsS -o arena "$ARENA_URL/cli/linux/amd64" && chmod +x arena
./arena relay connect --url "$ARENA_URL" --run "$ARENA_RUN_ID" --to http://127.0.0.1:8001 &
relay=$!
wait_for "$ARENA_URL/relay/$ARENA_RUN_ID/health" "$relay" || { echo "the relay cannot be reached"; exit 1; }
echo "relay reachable via $ARENA_RELAY_URL"
unset ARENA_RELAY_SECRET # of the tunnel alone
export BENCHFLOW_PROVIDER_BASE_URL="$ARENA_RELAY_URL" BENCHFLOW_PROVIDER_API_KEY="$ARENA_RELAY_KEY"
export BENCHFLOW_MODEL_BRIDGE_CONTROL_URL=http://127.0.0.1:8001

# The run itself. What it leaves is uploaded however it ends.
export CUDA_VISIBLE_DEVICES="$ARENA_TRAINER_GPUS" ARENA_RUN_DIR="$PWD/out"
mkdir -p "$ARENA_RUN_DIR"
code=0
posttrainarena-train run --config "$bundle/config.toml" || code=$?
retry hf upload --quiet --repo-type dataset --commit-message "Output of run $ARENA_RUN_ID" "$ARENA_OUTPUT_REPO" "$ARENA_RUN_DIR" "$ARENA_OUTPUT_PATH"
echo "TRAINER_EXIT=$code"
exit "$code"
