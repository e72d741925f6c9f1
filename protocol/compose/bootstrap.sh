# What the job of a run executes. It is the same for every run: everything that
# differs comes by environment, and secrets by environment too, so none is here.
# The image brings bash, coreutils, git, curl and Python with pip.
set -euo pipefail
work="$(mktemp -d)"
cd "$work"

background() { # COMMAND…: in a process group of its own, so that it is ended whole
  set -m
  "$@" &
  set +m
}
retry() { # TRIES COMMAND…
  local n tries="$1"
  shift
  for ((n = 1; ; n++)); do
    # In the background, because a signal is only seen while waiting.
    background "$@"
    wait "$!" && return 0
    ((n < tries)) || return 1
    sleep $((n * n))
  done
}
wait_for() { # URL PID TRIES: until the URL answers, the process is gone, or it takes too long
  local n
  for ((n = 0; n < $3; n++)); do
    curl -fsS --max-time 10 -o /dev/null "$1" 2>/dev/null && return 0
    kill -0 "$2" 2>/dev/null || return 1
    sleep 3
  done
  return 1
}
# What a job that stops says: in Python's form, which is where the arena looks for it.
fail() { # SENTENCE [LOG]
  echo "JobError: $1"
  [ -z "${2:-}" ] || tail -n 40 "$2"
  exit 1
}
stop() { # whatever still runs
  local group
  for group in $(jobs -p); do kill -- "-$group" 2>/dev/null || true; done
}
trap stop EXIT
trap 'exit 143' TERM

relay_secret="$ARENA_RELAY_SECRET"
unset ARENA_RELAY_SECRET # of the tunnel alone

# The pipeline, at the commit that the challenge pins, and what it needs as far as
# the image does not have it.
export GIT_TERMINAL_PROMPT=0 PIP_BREAK_SYSTEM_PACKAGES=1
retry 5 git clone --quiet "https://github.com/$ARENA_PIPELINE_REPO" pipeline || fail "the pipeline $ARENA_PIPELINE_REPO cannot be cloned"
git -C pipeline checkout --quiet "$ARENA_PIPELINE_REF" || fail "the pipeline has no commit $ARENA_PIPELINE_REF"
echo "pipeline ref $ARENA_PIPELINE_REF at $(git -C pipeline rev-parse --short HEAD)"
retry 5 python3 -m pip install --quiet "./pipeline/pipelines/benchflow-task-posttrain[train,hf]" || fail "the pipeline cannot be installed"

# The run's files, at the commit that the arena made for it.
retry 5 hf download --quiet --repo-type dataset --revision "$ARENA_BUNDLE_REVISION" --include "$ARENA_BUNDLE_PATH/*" --local-dir bundle "$ARENA_BUNDLE_REPO" ||
  fail "the run's files cannot be downloaded"
bundle="$PWD/bundle/$ARENA_BUNDLE_PATH"
[ -f "$bundle/config.toml" ] || fail "the run's files have no config.toml"

# The model, on devices of its own. The pipeline's server knows more names of
# weights than the one that it builds on.
serve=(trl vllm-serve)
command -v posttrainarena-vllm-serve >/dev/null && serve=(posttrainarena-vllm-serve)
model="http://127.0.0.1:${ARENA_VLLM_PORT:-8000}" bridge="http://127.0.0.1:${ARENA_BRIDGE_PORT:-8001}"
CUDA_VISIBLE_DEVICES="$ARENA_SERVING_GPUS" background "${serve[@]}" --model "$ARENA_MODEL" --revision "$ARENA_MODEL_REVISION" \
  --tensor_parallel_size "$ARENA_TENSOR_PARALLEL" --data_parallel_size "$ARENA_DATA_PARALLEL" --max_model_len "$ARENA_CONTEXT" \
  --host 127.0.0.1 --port "${model##*:}" >vllm.log 2>&1
vllm_pid=$!
wait_for "$model/health/" "$vllm_pid" 1200 || {
  echo VLLM_FAILED
  fail "the model server does not answer" vllm.log
}
echo "vllm up"
export TRL_VLLM_SERVER_BASE_URL="$model"

# The bridge in front of it, which speaks OpenAI's interface and keeps the log
# probabilities that training needs. The trainer asks it for those directly and has
# one key, so that is the one by which sandboxes call the model.
background posttrainarena-train model-bridge --upstream-url "$model" --tokenizer "$ARENA_MODEL" --tokenizer-revision "$ARENA_MODEL_REVISION" \
  --max-context-tokens "$ARENA_EVAL_CONTEXT" --max-logprob-context-tokens "$ARENA_TRAIN_CONTEXT" --api-key-env ARENA_RELAY_KEY \
  --host 127.0.0.1 --port "${bridge##*:}" >bridge.log 2>&1
bridge_pid=$!
wait_for "$bridge/health" "$bridge_pid" 200 || fail "the bridge in front of the model does not answer" bridge.log
echo "bridge up"

# The tunnel, so that sandboxes elsewhere can call it.
retry 5 curl -fsS -o arena "$ARENA_URL/cli/linux/amd64" || fail "the arena does not give its program for this machine"
chmod +x arena
ARENA_RELAY_SECRET="$relay_secret" ARENA_MODEL_KEY="$ARENA_RELAY_KEY" background ./arena relay connect --url "$ARENA_URL" --run "$ARENA_RUN_ID" --to "$bridge"
relay_pid=$!
wait_for "$ARENA_URL/relay/$ARENA_RUN_ID/health" "$relay_pid" 100 || fail "the relay cannot be reached"
echo "relay reachable via $ARENA_RELAY_URL"
export BENCHFLOW_PROVIDER_BASE_URL="$ARENA_RELAY_URL" BENCHFLOW_PROVIDER_API_KEY="$ARENA_RELAY_KEY"
export BENCHFLOW_MODEL_BRIDGE_CONTROL_URL="$bridge/v1"
export BENCHFLOW_BASE_MODEL="vllm/$ARENA_MODEL" BENCHFLOW_ADAPTER_MODEL=vllm/student

# The run itself, in the place where the pipeline puts a run of this name. It is
# ended before the job's time is over, or when the job is told to stop, because what
# it leaves is uploaded however it ends.
export CUDA_VISIBLE_DEVICES="$ARENA_TRAINER_GPUS" ARENA_RUN_DIR="$bundle/runs/$ARENA_RUN_ID"
mkdir -p "$ARENA_RUN_DIR/reports"
python3 -m pip freeze >"$ARENA_RUN_DIR/reports/packages.txt" || true # what it ran with
reserve=$((ARENA_TIMEOUT_SECONDS / 10 < 900 ? ARENA_TIMEOUT_SECONDS / 10 : 900))
left=$((ARENA_TIMEOUT_SECONDS - SECONDS - reserve))
((left > 0)) || fail "the job's time is over before training began"
background timeout --kill-after 60 "$left" posttrainarena-train run --config "$bundle/config.toml" --run-name "$ARENA_RUN_ID"
trainer_pid=$!
canceled=
trap 'canceled=1; kill -- "-$trainer_pid" 2>/dev/null || true' TERM
code=0
wait "$trainer_pid" || code=$?
while kill -0 "$trainer_pid" 2>/dev/null; do # a signal ends waiting, not the trainer
  code=0
  wait "$trainer_pid" || code=$?
done
trap - TERM

if ((code != 0)) && [ -z "$canceled" ]; then # why, as far as the trainer cannot know
  kill -0 "$relay_pid" 2>/dev/null || echo "the relay ended before the trainer"
  kill -0 "$bridge_pid" 2>/dev/null || { echo "the bridge ended before the trainer" && tail -n 40 bridge.log; }
  kill -0 "$vllm_pid" 2>/dev/null || { echo "the model server ended before the trainer" && tail -n 40 vllm.log; }
fi
if ((code == 124)); then # of timeout
  echo "JobTimeLimitError: the trainer was ended $reserve s before the job's limit of $ARENA_TIMEOUT_SECONDS s, so that what it left can be uploaded"
fi

# Weights and copies of tasks are large, and nobody reads them there. The hours that
# the run took are worth more patience than anything before.
rm -rf "$ARENA_RUN_DIR/checkpoints" "$ARENA_RUN_DIR/data/train" "$ARENA_RUN_DIR/data/eval"
uploaded=1
retry 12 hf upload --quiet --repo-type dataset --commit-message "Output of run $ARENA_RUN_ID" "$ARENA_OUTPUT_REPO" "$ARENA_RUN_DIR" "$ARENA_OUTPUT_PATH" >upload.log 2>&1 || uploaded=0
((uploaded)) || tail -n 40 upload.log | sed 's/^/upload: /' # so that it is not taken for why the trainer stopped
echo "TRAINER_EXIT=$code"
((uploaded || code)) || fail "what the run left cannot be uploaded"
exit "$code"
