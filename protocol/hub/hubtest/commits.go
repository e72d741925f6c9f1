package hubtest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Writing to datasets: D19 D20 D21 D22 D24. A token may write where it has kind
// write and grants the dataset.
func (h *HuggingFace) writing() {
	h.Handle("POST /api/datasets/{ns}/{repo}/preupload/{rev}", h.preupload)
	h.Handle("POST /api/datasets/{ns}/{repo}/commit/{rev}", h.commit)
	h.Handle("POST /datasets/{ns}/{repo}/info/lfs/objects/batch", h.lfsBatch)
	h.Handle("POST /datasets/{ns}/{repo}/info/lfs/objects/verify", h.lfsVerify)
	h.CDN.Handle("PUT /{oid}", h.lfsPut)
}

// writable finds the dataset of a request if the caller may write to it.
func (h *HuggingFace) writable(w http.ResponseWriter, r *http.Request) *Repository {
	r.SetPathValue("repo", strings.TrimSuffix(r.PathValue("repo"), ".git"))
	d := h.dataset(w, r, true)
	if d == nil {
		return nil
	}
	if t, ok := h.Bearer(w, r); !ok || t == nil || t.Kind != "write" || t.Grants != d.Name {
		hubError(w, http.StatusForbidden, "", "You don't have the required permissions: repo.write.")
		return nil
	}
	return d
}

func (h *HuggingFace) preupload(w http.ResponseWriter, r *http.Request) {
	d := h.writable(w, r)
	if d == nil {
		return
	}
	files, commit, ok := h.revision(w, r, d)
	if !ok {
		return
	}
	var req struct {
		Files []struct {
			Path, Sample string
			Size         int
		}
		GitIgnore *string
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Files) == 0 || len(req.Files) > 256 {
		hubError(w, http.StatusUnprocessableEntity, "", "Invalid files")
		return
	}
	rows := []map[string]any{}
	for _, f := range req.Files {
		sample, err := base64.StdEncoding.DecodeString(f.Sample)
		if err != nil || len(sample) != min(f.Size, 512) {
			h.T.Errorf("%s comes with a sample of %d bytes of %d", f.Path, len(sample), f.Size)
		}
		mode := "regular"
		if f.Size > 10<<20 || bytes.Contains(sample, []byte{0}) {
			mode = "lfs"
		}
		row := map[string]any{"path": f.Path, "uploadMode": mode, "shouldIgnore": req.GitIgnore == nil && strings.HasSuffix(f.Path, ".log")}
		for _, old := range files {
			if old.Path == f.Path {
				row["oid"] = old.Blob()
			}
		}
		rows = append(rows, row)
	}
	writeJSON(w, http.StatusOK, map[string]any{"files": rows, "commitOid": commit})
}

func (h *HuggingFace) commit(w http.ResponseWriter, r *http.Request) {
	d := h.writable(w, r)
	if d == nil {
		return
	}
	files, head, ok := h.revision(w, r, d)
	if !ok {
		return
	}
	if r.Header.Get("Content-Type") != "application/x-ndjson" {
		hubError(w, http.StatusUnsupportedMediaType, "", "Send ndjson")
		return
	}
	files = slices.Clone(files)
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 64<<20)
	for n := 0; lines.Scan(); n++ {
		var line struct {
			Key   string
			Value struct {
				Summary, ParentCommit, Path, Content, Encoding, Algo, OID string
				Size                                                      int
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || (n == 0) != (line.Key == "header") {
			hubError(w, http.StatusUnprocessableEntity, "", "The header comes first")
			return
		}
		v := line.Value
		switch line.Key {
		case "header":
			if v.Summary == "" {
				h.T.Error("a commit has no summary")
			}
			if v.ParentCommit != "" && v.ParentCommit != head {
				hubError(w, http.StatusPreconditionFailed, "", "A commit has happened since. Please refresh and try again.")
				return
			}
			continue
		case "deletedFile":
			files = slices.DeleteFunc(files, func(f File) bool { return f.Path == v.Path })
			continue
		}
		f := File{Path: v.Path}
		switch line.Key {
		case "file":
			raw, err := base64.StdEncoding.DecodeString(v.Content)
			if err != nil || v.Encoding != "base64" {
				hubError(w, http.StatusUnprocessableEntity, "", "Invalid content")
				return
			}
			f.Text = string(raw)
		case "lfsFile":
			h.mu.Lock()
			text, ok := h.objects[v.OID]
			h.mu.Unlock()
			if !ok || v.Algo != "sha256" || len(text) != v.Size {
				hubError(w, http.StatusUnprocessableEntity, "", "LFS pointer pointed to a file that does not exist")
				return
			}
			f.Text, f.LFS = text, true
		default:
			hubError(w, http.StatusUnprocessableEntity, "", "Unknown key "+line.Key)
			return
		}
		files = append(slices.DeleteFunc(files, func(o File) bool { return o.Path == f.Path }), f)
	}
	id := d.Commit(files, r.PathValue("rev"))
	writeJSON(w, http.StatusOK, map[string]any{"success": true, "commitOid": id, "commitUrl": h.URL + "/datasets/" + d.Name + "/commit/" + id, "hookOutput": ""})
}

func (h *HuggingFace) lfsBatch(w http.ResponseWriter, r *http.Request) {
	d := h.writable(w, r)
	if d == nil {
		return
	}
	var req struct {
		Operation string
		Transfers []string
		Objects   []struct {
			OID  string
			Size int
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Operation != "upload" || r.Header.Get("Content-Type") != "application/vnd.git-lfs+json" {
		hubError(w, http.StatusUnprocessableEntity, "", "Invalid batch")
		return
	}
	rows := []map[string]any{}
	h.mu.Lock()
	for _, o := range req.Objects {
		row := map[string]any{"oid": o.OID, "size": o.Size}
		if _, ok := h.objects[o.OID]; !ok {
			row["actions"] = map[string]any{
				"upload": map[string]any{"href": h.CDN.URL + "/" + o.OID + "?Signature=abc"},
				"verify": map[string]any{"href": h.URL + "/datasets/" + d.Name + ".git/info/lfs/objects/verify"},
			}
		}
		rows = append(rows, row)
	}
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	_ = json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": rows})
}

func (h *HuggingFace) lfsPut(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		h.T.Error("a token arrived at the content network")
	}
	raw, err := io.ReadAll(r.Body)
	if sum := sha256.Sum256(raw); err != nil || hex.EncodeToString(sum[:]) != r.PathValue("oid") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.objects[r.PathValue("oid")] = string(raw)
	h.mu.Unlock()
}

func (h *HuggingFace) lfsVerify(w http.ResponseWriter, r *http.Request) {
	if h.writable(w, r) == nil {
		return
	}
	var o struct{ OID string }
	_ = json.NewDecoder(r.Body).Decode(&o)
	h.mu.Lock()
	_, ok := h.objects[o.OID]
	h.mu.Unlock()
	if !ok {
		hubError(w, http.StatusNotFound, "", "Not uploaded")
		return
	}
	w.WriteHeader(http.StatusOK)
}
