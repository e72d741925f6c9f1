package shell

import (
	"strings"
)

// Download is one command that needs the network.
type Download struct {
	Tool string // curl, wget, pip, apt-get, npm, git, uv …
	// Host is the host name if the script names one; "" for the tool's own
	// registry or a host that is not known.
	Host string
	// URL is the address as far as it is known, or the packages asked for.
	URL string
	// Registry says that the tool's own package registry is asked.
	Registry bool
	Line     int
	Offset   int
	Guard    string // innermost undecided condition around it, "" if none
	Probe    bool   // a condition asks whether something is installed or present
}

// Downloads lists the commands that need the network, once for every tool and
// host at one place. Addresses of the machine itself (localhost, 127.0.0.1,
// ::1) are not downloads.
func Downloads(commands []Command) []Download {
	type place struct {
		tool, host string
		offset     int
	}
	var out []Download
	seen := map[place]bool{}
	for _, c := range commands {
		for _, d := range c.downloads() {
			if p := (place{d.Tool, d.Host, c.Offset}); !seen[p] {
				seen[p] = true
				d.Line, d.Offset, d.Guard, d.Probe = c.Line, c.Offset, c.Guard, c.Probe
				out = append(out, d)
			}
		}
	}
	return out
}

func (c Command) downloads() []Download {
	sub := c.first()
	switch c.Name {
	case "curl", "wget", "aria2c", "http", "https", "lynx":
		return c.fromURLs(c.urls())
	case "git":
		return c.gitDownloads()
	case "pip", "pip3":
		return c.pipDownloads(c.Args)
	case "uv":
		return c.uvDownloads()
	case "uvx", "pipx":
		if c.has("--offline") || c.Name == "pipx" && sub != "install" && sub != "run" {
			return nil
		}
		return c.registry(c.Name)
	case "apt", "apt-get", "aptitude":
		return c.registryIf(sub, "update", "install", "upgrade", "dist-upgrade", "full-upgrade", "build-dep", "source", "download")
	case "apk":
		return c.registryIf(sub, "add", "update", "upgrade", "fetch")
	case "yum", "dnf", "microdnf", "zypper", "pacman", "brew", "snap":
		if c.Name == "pacman" && c.has("-S") {
			return c.registry(c.Name)
		}
		return c.registryIf(sub, "install", "update", "upgrade", "in", "localinstall", "groupinstall", "refresh")
	}
	return c.languageDownloads(sub)
}

// languageDownloads covers the package managers of languages and other fetchers.
func (c Command) languageDownloads(sub string) []Download {
	switch c.Name {
	case "npm", "pnpm", "yarn", "bun":
		if c.Name == "yarn" && sub == "" {
			return c.registry(c.Name)
		}
		if c.has("--offline") {
			return nil
		}
		return c.registryIf(sub, "install", "i", "ci", "add", "update", "dlx")
	case "npx", "bunx":
		if c.has("--no-install", "--no") {
			return nil
		}
		return c.registry(c.Name)
	case "gem", "cargo", "go", "conda", "mamba", "micromamba", "poetry", "pipenv", "pdm", "composer", "bundle", "cpan", "cpanm", "luarocks", "opam", "mix", "helm", "playwright":
		if c.Name == "cpanm" || c.Name == "cpan" {
			return c.registry(c.Name)
		}
		if c.Name == "go" && sub == "mod" {
			sub = "mod " + c.operandText(1)
		}
		return c.registryIf(sub, "install", "add", "get", "create", "update", "fetch", "sync", "mod download", "require", "deps.get", "pull")
	case "huggingface-cli", "hf", "kaggle", "gdown", "modelscope":
		return c.registry(c.Name)
	case "docker", "podman", "skopeo":
		return c.registryIf(sub, "pull", "run", "build", "copy")
	case "scp", "rsync", "sftp", "ssh", "ftp", "svn", "hg", "nc", "telnet":
		return c.remoteOperands()
	}
	switch c.Module() {
	case "pip":
		return c.pipDownloads(c.afterModule())
	case "playwright", "nltk.downloader", "spacy", "torch.hub":
		return c.registry(c.Module())
	}
	if code, ok := c.Inline(); ok {
		return codeDownloads(code)
	}
	return nil
}

func (c Command) operandText(i int) string {
	if ops := c.operands(); i < len(ops) {
		return ops[i].Text
	}
	return ""
}

// afterModule returns the arguments behind -m module.
func (c Command) afterModule() []Word {
	for i, a := range c.Args {
		if a.Text == "-m" && i+2 <= len(c.Args) {
			return c.Args[i+2:]
		}
	}
	return nil
}

// registry is a download from the tool's own registry; operands say what.
func (c Command) registry(tool string) []Download {
	var what []string
	if c.Launcher {
		for i, a := range c.Args[1:] {
			if isOneOf(c.Args[i].Text, []string{"--with", "--from", "--spec", "-p", "--package"}) {
				what = append(what, a.Text)
			}
		}
	} else {
		for _, o := range c.operands() {
			what = append(what, o.Text)
		}
	}
	return []Download{{Tool: tool, URL: shorten(strings.Join(what, " ")), Registry: true}}
}

func (c Command) registryIf(sub string, subs ...string) []Download {
	if isOneOf(sub, subs) {
		return c.registry(c.Name)
	}
	return nil
}

func shorten(s string) string {
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:117], "") + "..."
	}
	return s
}

// pipDownloads reads the arguments of pip. Installing wheels from a directory
// with --no-index needs no network.
func (c Command) pipDownloads(args []Word) []Download {
	p := Command{Name: "pip", Args: args}
	sub := p.first()
	if sub != "install" && sub != "download" && sub != "wheel" || p.has("--no-index") {
		return nil
	}
	var out []Download
	for _, w := range p.operands("-r", "-c", "-i", "--index-url", "--extra-index-url", "-t", "--target", "--root", "--prefix", "-f", "--find-links", "--timeout") {
		if i := strings.Index(w.Text, "://"); i >= 0 {
			out = append(out, urlDownload("pip", w))
		}
	}
	if index, ok := p.option("-i", "--index-url"); ok {
		d := urlDownload("pip", index)
		d.Registry = true
		return append(out, d)
	}
	if len(out) > 0 && len(out) == len(p.operands())-1 {
		return out
	}
	return append(out, p.registry("pip")...)
}

func (c Command) uvDownloads() []Download {
	if c.has("--offline") {
		return nil
	}
	ops := c.operands()
	text := func(i int) string {
		if i < len(ops) {
			return ops[i].Text
		}
		return ""
	}
	switch text(0) {
	case "pip":
		if text(1) == "install" || text(1) == "sync" {
			return c.registry("uv")
		}
	case "add", "sync", "lock", "build", "self":
		return c.registry("uv")
	case "tool", "python":
		if text(1) == "install" || text(1) == "run" || text(1) == "upgrade" {
			return c.registry("uv")
		}
	case "run":
		if c.has("--with", "-w", "--with-requirements", "--python") {
			return c.registry("uv")
		}
	}
	return nil
}

func (c Command) gitDownloads() []Download {
	ops := c.operands("-C", "-c", "-b", "--branch", "--depth", "-o", "--origin", "--reference", "-j", "--filter")
	if len(ops) == 0 {
		return nil
	}
	switch ops[0].Text {
	case "clone", "fetch", "pull", "ls-remote", "submodule", "lfs":
	default:
		return nil
	}
	if len(ops) > 1 {
		if w := ops[1]; strings.Contains(w.Text, "://") || strings.HasPrefix(w.Text, "git@") {
			return []Download{urlDownload("git", w)}
		} else if ops[0].Text == "clone" && (w.Known && !strings.Contains(w.Text, ":")) {
			return nil // a local repository
		}
	}
	if ops[0].Text == "submodule" && (len(ops) < 2 || ops[1].Text != "update") || ops[0].Text == "lfs" && (len(ops) < 2 || ops[1].Text != "pull") {
		return nil
	}
	return []Download{{Tool: "git", URL: shorten(c.String())}}
}

// remoteOperands finds host:path and user@host operands.
func (c Command) remoteOperands() []Download {
	for _, w := range c.operands("-i", "-p", "-P", "-e", "-o") {
		switch {
		case strings.Contains(w.Text, "://"):
			return c.fromURLs([]Word{w})
		case c.Name == "nc" || c.Name == "telnet" || c.Name == "ssh" || c.Name == "ftp" || c.Name == "sftp":
			host := w.Text[strings.LastIndexByte(w.Text, '@')+1:]
			return dropLocal([]Download{{Tool: c.Name, Host: knownHost(withText(w, host)), URL: w.Text}})
		}
		if host, _, ok := strings.Cut(w.Text, ":"); ok && !strings.ContainsAny(host, "/ ") {
			host = host[strings.LastIndexByte(host, '@')+1:]
			return dropLocal([]Download{{Tool: c.Name, Host: knownHost(withText(w, host)), URL: w.Text}})
		}
	}
	return nil
}

// urls returns the operands that name something on the network.
func (c Command) urls() []Word {
	var out []Word
	for _, w := range c.operands("-o", "--output", "-O", "-H", "--header", "-d", "--data", "--data-raw", "--data-binary", "-X", "--request", "-u", "--user", "-A", "--user-agent",
		"-e", "--referer", "-b", "--cookie", "-c", "-m", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "-w", "--write-out", "-F", "--form", "-T", "-x", "--proxy",
		"-P", "--output-document", "--directory-prefix", "-t", "--tries", "--cacert", "-K", "-Z", "-D") {
		if c.Name == "curl" && w.Text == "" {
			continue
		}
		if w.Known && !strings.Contains(w.Text, "://") && !strings.ContainsAny(w.Text, ".:") && w.Text != "localhost" {
			continue // a file name or a sub-command
		}
		out = append(out, w)
	}
	if c.Name == "wget" || c.Name == "curl" {
		// wget -O FILE and curl -O take different meanings; values of clustered
		// short options (-qO FILE) are file names, not addresses.
		for _, letter := range []byte{'o', 'O'} {
			if v, ok := c.clusterValue(letter); ok && !strings.Contains(v.Text, "://") {
				out = without(out, v)
			} else if ok && c.Name == "curl" && letter == 'O' && !containsWord(out, v) {
				out = append(out, v)
			}
		}
	}
	if u, ok := c.option("--url"); ok {
		out = append(out, u)
	}
	return out
}

func containsWord(list []Word, w Word) bool {
	for _, x := range list {
		if x == w {
			return true
		}
	}
	return false
}

func without(list []Word, w Word) []Word {
	var out []Word
	for _, x := range list {
		if x != w {
			out = append(out, x)
		}
	}
	return out
}

func (c Command) fromURLs(urls []Word) []Download {
	var out []Download
	for _, u := range urls {
		out = append(out, urlDownload(c.Name, u))
	}
	return dropLocal(out)
}

func urlDownload(tool string, w Word) Download {
	return Download{Tool: tool, Host: hostOf(w), URL: shorten(w.Text)}
}

func dropLocal(list []Download) []Download {
	var out []Download
	for _, d := range list {
		if !isLocal(d.Host) {
			out = append(out, d)
		}
	}
	return out
}

// hostOf returns the host of a URL, of git@host:path, or of host/path. It is ""
// when the host is not constant.
func hostOf(w Word) string {
	s := w.Text
	if i := strings.Index(s, "://"); i >= 0 {
		s = s[i+3:]
	} else if i := strings.IndexByte(s, ':'); i >= 0 && strings.Contains(s[:i], "@") {
		s = s[:i]
	}
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	s = s[strings.LastIndexByte(s, '@')+1:]
	if strings.HasPrefix(s, "[") {
		s, _, _ = strings.Cut(s[1:], "]")
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	return knownHost(withText(w, s))
}

// knownHost returns a host name, or "" if it holds anything that is not constant.
func knownHost(w Word) string {
	h := strings.ToLower(strings.TrimSuffix(w.Text, "."))
	if h == "" || strings.ContainsAny(h, "$`(){}* …") {
		return ""
	}
	return h
}

// isLocal says whether a host is the machine itself.
func isLocal(host string) bool {
	switch host {
	case "localhost", "0.0.0.0", "::1", "::":
		return true
	}
	return strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.")
}

// codeDownloads finds addresses in inline code that names a network client.
func codeDownloads(code Code) []Download {
	text := code.Text.Text
	client := false
	for _, name := range []string{"urllib", "requests", "httpx", "aiohttp", "http.client", "urlopen", "urlretrieve", "fetch(", "hf_hub_download", "snapshot_download", "load_dataset", "axios", "wget", "Net::HTTP"} {
		client = client || strings.Contains(text, name)
	}
	if !client {
		return nil
	}
	var out []Download
	for _, t := range pyTokens(text) {
		if t.kind == 's' && (strings.HasPrefix(t.text, "http://") || strings.HasPrefix(t.text, "https://")) {
			out = append(out, urlDownload(code.Language, Word{Text: t.text, Known: true}))
		}
	}
	return dropLocal(out)
}
