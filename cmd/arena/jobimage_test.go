package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// jobImage stands in for the programs that the image of a job brings besides bash,
// git and curl: its arguments are the name of one and that one's own. They take the
// flags that the real ones have and no others. STANDIN_DIR is where they note what
// was done to them, and STANDIN which of them does not work.
func jobImage() {
	name, args := os.Args[1], os.Args[2:]
	noteFor(name+".env", strings.Join(os.Environ(), "\n")+"\n")
	err := map[string]func([]string) error{
		"hf": hfStandIn, "python3": pythonStandIn, "trl": vllmStandIn, "posttrainarena-train": trainStandIn,
	}[name](args)
	var code standInExit
	if errors.As(err, &code) {
		os.Exit(int(code))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "Traceback (most recent call last):\nRuntimeError: %v\n", err)
		os.Exit(1)
	}
}

// standInExit ends a stand-in with a code and without a word.
type standInExit int

func (standInExit) Error() string { return "exit" }

// standInBroken reports whether a stand-in shall not work in some way.
func standInBroken(how string) bool { return os.Getenv("STANDIN") == how }

// noteFor appends to a file of the notes.
func noteFor(name, text string) {
	f, err := os.OpenFile(filepath.Join(os.Getenv("STANDIN_DIR"), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		panic(err)
	}
}

// options parses flags: names and nothing else. It returns what is not a flag.
func options(args []string, words map[string]*string, switches ...string) ([]string, error) {
	set := flag.NewFlagSet("stand-in", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for name, value := range words {
		set.StringVar(value, name, "", "")
	}
	for _, name := range switches {
		set.Bool(name, false, "")
	}
	var rest []string
	for len(args) > 0 {
		if err := set.Parse(args); err != nil {
			return nil, err
		}
		if args = set.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, nil
}

// pythonStandIn is python3 with pip.
func pythonStandIn(args []string) error {
	if len(args) > 2 && args[0] == "-m" && args[1] == "pip" {
		switch rest, err := options(args[3:], nil, "quiet"); {
		case err != nil:
			return err
		case args[2] == "freeze":
			fmt.Println("trl==1.8.0")
			return nil
		case args[2] == "install" && len(rest) == 1 && !standInBroken("pip"):
			dir, ok := strings.CutSuffix(rest[0], "[train,hf]")
			if _, err := os.Stat(filepath.Join(dir, "pyproject.toml")); !ok || err != nil {
				return fmt.Errorf("no package at %q: %w", rest[0], err)
			}
			return nil
		}
	}
	return fmt.Errorf("python3 cannot do %q", args)
}

// askHub calls the fake hub with the job's token.
func askHub(method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequest(method, os.Getenv("HF_ENDPOINT")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + os.Getenv("HF_TOKEN")}, "User-Agent": {"hf_hub/1"}, "Content-Type": {"application/x-ndjson"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s %.200s", method, path, resp.Status, raw)
	}
	return raw, err
}

// hfStandIn is the hub's command line: it downloads what begins with a path, and
// uploads a directory in one commit.
func hfStandIn(args []string) error {
	var kind, revision, include, local, message string
	words := map[string]map[string]*string{
		"download": {"repo-type": &kind, "revision": &revision, "include": &include, "local-dir": &local},
		"upload":   {"repo-type": &kind, "commit-message": &message},
	}[args[0]]
	rest, err := options(args[1:], words, "quiet")
	if err != nil {
		return err
	}
	if args[0] == "upload" && len(rest) == 3 && kind == "dataset" {
		return hfUpload(rest[0], rest[1], rest[2], message)
	}
	prefix, ok := strings.CutSuffix(include, "/*")
	if args[0] != "download" || len(rest) != 1 || kind != "dataset" || !ok {
		return fmt.Errorf("hf cannot do %q", args)
	}
	raw, err := askHub("GET", "/api/datasets/"+rest[0]+"/tree/"+revision+"/"+prefix+"?recursive=true", nil)
	var rows []struct{ Type, Path string }
	if err = errors.Join(err, json.Unmarshal(raw, &rows)); err != nil {
		return err
	}
	for _, row := range rows {
		if row.Type != "file" {
			continue
		}
		text, err := askHub("GET", "/datasets/"+rest[0]+"/resolve/"+revision+"/"+row.Path, nil)
		if err != nil {
			return err
		}
		name := filepath.Join(local, filepath.FromSlash(row.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

func hfUpload(repo, dir, to, message string) error {
	var body bytes.Buffer
	lines := json.NewEncoder(&body)
	err := lines.Encode(map[string]any{"key": "header", "value": map[string]string{"summary": message}})
	if err != nil {
		return err
	}
	if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		return errors.Join(err, lines.Encode(map[string]any{"key": "file", "value": map[string]string{
			"path": to + "/" + name, "encoding": "base64", "content": base64.StdEncoding.EncodeToString(text),
		}}))
	}); err != nil {
		return err
	}
	_, err = askHub("POST", "/api/datasets/"+repo+"/commit/main", body.Bytes())
	return err
}

// listen serves until the process is ended.
func listen(host, port string, mux *http.ServeMux) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	return http.Serve(l, mux)
}

// vllmStandIn is the model server. It can be told to end.
func vllmStandIn(args []string) error {
	var model, revision, tensor, data, length, host, port string
	rest, err := options(args, map[string]*string{
		"model": &model, "revision": &revision, "tensor_parallel_size": &tensor, "data_parallel_size": &data, "max_model_len": &length, "host": &host, "port": &port,
	})
	if err != nil || !slices.Equal(rest, []string{"vllm-serve"}) {
		return fmt.Errorf("trl cannot do %q: %w", args, err)
	}
	noteFor("vllm.args", strings.Join([]string{model, revision, tensor, data, length, os.Getenv("CUDA_VISIBLE_DEVICES")}, " ")+"\n")
	if standInBroken("vllm") {
		return errors.New("CUDA out of memory")
	}
	mux := http.NewServeMux()
	if !standInBroken("vllm-hangs") {
		mux.HandleFunc("GET /health/", func(http.ResponseWriter, *http.Request) {})
	}
	mux.HandleFunc("POST /end", func(http.ResponseWriter, *http.Request) {
		fmt.Println("torch.AcceleratorError: CUDA error: an illegal memory access")
		os.Exit(1)
	})
	return listen(host, port, mux)
}

// trainStandIn is the pipeline: its bridge and its run.
func trainStandIn(args []string) error {
	if len(args) > 0 && args[0] == "model-bridge" {
		return bridgeStandIn(args[1:])
	}
	var config, name string
	if rest, err := options(args, map[string]*string{"config": &config, "run-name": &name}); err != nil || !slices.Equal(rest, []string{"run"}) {
		return fmt.Errorf("posttrainarena-train cannot do %q: %w", args, err)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	lists := map[string][]string{}
	for _, list := range []string{"task-lists/train_dataset.txt", "task-lists/eval_dataset.txt"} {
		names, err := os.ReadFile(filepath.Join(filepath.Dir(config), list))
		if err != nil {
			return err
		}
		lists[list] = strings.Fields(string(names))
	}
	if err := attest(); err != nil {
		return err
	}
	dir := filepath.Join(filepath.Dir(config), "runs", name) // output.root of the config, and the run's name
	for _, big := range []string{"checkpoints/grpo-merged/model.safetensors", "data/eval/sealed/task.md"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(big)), 0o700), os.WriteFile(filepath.Join(dir, big), []byte("large"), 0o600)); err != nil {
			return err
		}
	}
	if !standInBroken("trainer") && !standInBroken("trainer-hangs") && !standInBroken("vllm-ends") {
		tree, err := measure(filepath.Join(os.Getenv("STANDIN_DIR"), "measured"), name, string(text), lists, func(lines ...string) {
			for _, line := range lines { // the setup's lines and the exit are not the trainer's
				if strings.HasPrefix(line, "[") || strings.HasPrefix(line, "{") || strings.HasPrefix(line, "Job") {
					fmt.Println(line)
				}
			}
		})
		if err != nil {
			return err
		}
		return fs.WalkDir(tree, "reports", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(tree, name)
			to := filepath.Join(dir, name)
			return errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, text, 0o600))
		})
	}
	if err := os.WriteFile(filepath.Join(dir, "partial.json"), []byte("{}"), 0o600); err != nil {
		return err
	}
	switch os.Getenv("STANDIN") {
	case "trainer-hangs":
		noteFor("training", "")
		select {} // until it is ended
	case "vllm-ends":
		_, err := http.Post(os.Getenv("TRL_VLLM_SERVER_BASE_URL")+"/end", "", nil)
		return fmt.Errorf("the model server cannot be reached: %w", err)
	}
	fmt.Println("Traceback (most recent call last):\nRuntimeError: GRPO produced zero within-group reward variance")
	return standInExit(3)
}

// attest calls the model through the arena, and asks the bridge directly for what it
// kept of the call, as the pipeline does before it measures.
func attest() error {
	key := os.Getenv("BENCHFLOW_PROVIDER_API_KEY")
	ask := func(method, address string) error {
		body := fmt.Sprintf(`{"model":%q}`, os.Getenv("BENCHFLOW_BASE_MODEL"))
		r, err := http.NewRequest(method, address, strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s %s: %s", method, address, resp.Status)
		}
		return nil
	}
	return errors.Join(
		ask("POST", os.Getenv("BENCHFLOW_PROVIDER_BASE_URL")+"/chat/completions"),
		ask("GET", os.Getenv("BENCHFLOW_MODEL_BRIDGE_CONTROL_URL")+"/benchflow/logprobs/chatcmpl-1"),
	)
}

// bridgeStandIn speaks OpenAI's interface, and notes what it was asked.
func bridgeStandIn(args []string) error {
	var upstream, tokenizer, revision, keyEnv, eval, train, host, port string
	if rest, err := options(args, map[string]*string{
		"upstream-url": &upstream, "tokenizer": &tokenizer, "tokenizer-revision": &revision, "api-key-env": &keyEnv,
		"max-context-tokens": &eval, "max-logprob-context-tokens": &train, "host": &host, "port": &port,
	}); err != nil || len(rest) != 0 {
		return fmt.Errorf("the bridge cannot do %q: %w", args, err)
	}
	if _, err := url.Parse(upstream); err != nil || tokenizer == "" || revision == "" || eval != "24576" || train != "16384" {
		return fmt.Errorf("the bridge is told %q", args)
	}
	if standInBroken("bridge") {
		return errors.New("no tokenizer")
	}
	mux := http.NewServeMux()
	if !standInBroken("bridge-hangs") {
		mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		noteFor("bridge.calls", r.Method+" "+r.URL.Path+" "+string(body)+"\n")
		if r.Header.Get("Authorization") != "Bearer "+os.Getenv(keyEnv) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	return listen(host, port, mux)
}
