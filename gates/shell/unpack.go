package shell

import (
	"path"
	"strings"
)

// tarEffects covers extraction; creating an archive writes one file.
func (c Command) tarEffects() []Effect {
	flags := ""
	for i, a := range c.Args {
		if i == 0 || strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--") {
			flags += strings.TrimPrefix(a.Text, "-")
		}
	}
	extract := strings.Contains(flags, "x") || c.has("--extract", "--get")
	create := !extract && (strings.Contains(flags, "c") || c.has("--create"))
	archive, ok := c.option("-f", "--file")
	if !ok {
		archive, ok = c.clusterValue('f')
	}
	if !ok {
		return nil
	}
	dir := c.Dir
	if d, named := c.option("-C", "--directory"); named {
		dir = c.Resolve(d)
	}
	switch {
	case extract && archive.Text != "-":
		return []Effect{{Op: OpExtract, From: c.Resolve(archive), To: dir}}
	case create && archive.Text != "-":
		return []Effect{{Op: OpWrite, To: c.Resolve(archive), Data: opaque(unknownOutput)}}
	}
	return nil
}

// clusterValue returns the value of an option letter in a cluster such as "xzf".
func (c Command) clusterValue(letter byte) (Word, bool) {
	for i, a := range c.Args {
		t := strings.TrimPrefix(a.Text, "-")
		if (i == 0 || t != a.Text) && !strings.HasPrefix(t, "-") && strings.HasSuffix(t, string(letter)) && i+1 < len(c.Args) {
			return c.Args[i+1], true
		}
	}
	return Word{}, false
}

func (c Command) unzipEffects() []Effect {
	dir := c.Dir
	ops := c.operands("-d", "-x", "-P")
	if strings.HasPrefix(c.Name, "7z") && len(ops) > 0 {
		ops = ops[1:]
		if d, ok := c.option("-o"); ok {
			dir = c.Resolve(d)
		}
	} else if d, ok := c.option("-d"); ok {
		dir = c.Resolve(d)
	}
	if len(ops) == 0 {
		return nil
	}
	return []Effect{{Op: OpExtract, From: c.Resolve(ops[0]), To: dir}}
}

func (c Command) decompressEffects() []Effect {
	if c.has("-c", "--stdout", "-t", "-l") {
		return nil
	}
	unpack := strings.HasPrefix(c.Name, "un") || strings.HasPrefix(c.Name, "gun") || strings.HasPrefix(c.Name, "bun") || c.has("-d", "--decompress")
	var out []Effect
	for _, f := range c.operands() {
		from := c.Resolve(f)
		to := withText(from, from.Text+"."+map[string]string{"gzip": "gz", "xz": "xz", "zstd": "zst", "bzip2": "bz2"}[c.Name])
		if unpack {
			to = withText(from, strings.TrimSuffix(from.Text, path.Ext(from.Text)))
		}
		out = append(out, Effect{Op: OpWrite, From: from, To: to, Data: opaque(unknownOutput)})
		if !c.has("-k", "--keep") && c.Name != "zstd" {
			out = append(out, Effect{Op: OpRemove, To: from})
		}
	}
	return out
}

// findEffects covers find DIR … -delete and find DIR … -exec rm.
func (c Command) findEffects() []Effect {
	var dirs []Word
	for _, a := range c.Args {
		if strings.HasPrefix(a.Text, "-") || a.Text == "!" || a.Text == "(" {
			break
		}
		dirs = append(dirs, a)
	}
	removes, whole, file, limited := false, false, false, 0
	pattern := "*"
	for i, a := range c.Args {
		next := ""
		if i+1 < len(c.Args) {
			next = c.Args[i+1].Text
		}
		switch a.Text {
		case "-delete":
			removes = true
		case "-exec", "-execdir", "-ok":
			if baseName(next) == "rm" {
				removes = true
				whole = i+2 < len(c.Args) && strings.HasPrefix(c.Args[i+2].Text, "-") && strings.ContainsAny(c.Args[i+2].Text, "rR")
			}
		case "-name", "-iname":
			limited++
			pattern = next
		case "-type":
			file = next == "f"
		case "-path", "-regex", "-newer", "-mtime", "-size", "-not", "!", "-empty", "-maxdepth", "-user", "-perm":
			limited += 2
		}
	}
	if !removes || limited > 1 {
		return nil // other conditions: what is removed is not known
	}
	var out []Effect
	for _, d := range dirs {
		out = append(out, Effect{Op: OpRemove, To: c.Resolve(d), Recursive: true, Pattern: pattern, OnlyFiles: file || !whole})
	}
	return out
}

func (c Command) fetchEffects() []Effect {
	urls := c.urls()
	if len(urls) == 0 {
		return nil
	}
	named, ok := c.option(map[string][]string{"curl": {"-o", "--output"}, "wget": {"-O", "--output-document"}, "aria2c": {"-o", "--out"}}[c.Name]...)
	if !ok && c.Name == "curl" {
		named, ok = c.clusterValue('o')
	}
	if !ok && c.Name == "wget" {
		named, ok = c.clusterValue('O')
	}
	if ok {
		if named.Text == "-" || isDevice(named.Text) {
			return nil
		}
		return []Effect{{Op: OpFetch, From: urls[0], To: c.Resolve(named)}}
	}
	if c.Name == "curl" && !c.has("-O", "--remote-name", "--remote-name-all") {
		return nil
	}
	dir := c.Dir
	if d, has := c.option("-P", "--directory-prefix", "--output-dir", "-d"); has && c.Name != "curl" || has && c.has("--output-dir") {
		dir = c.Resolve(d)
	}
	var out []Effect
	for _, u := range urls {
		name := u.Text
		if i := strings.IndexAny(name, "?#"); i >= 0 {
			name = name[:i]
		}
		out = append(out, Effect{Op: OpFetch, From: u, To: resolve(dir, withText(u, path.Base(name)))})
	}
	return out
}

func (c Command) cloneEffects() []Effect {
	ops := c.operands("-C", "-c", "-b", "--branch", "--depth", "-o", "--origin", "--reference", "-j", "--jobs", "--filter")
	if len(ops) < 2 || ops[0].Text != "clone" {
		return nil
	}
	e := Effect{Op: OpClone, From: ops[1]}
	_, e.Shallow = c.option("--depth")
	if len(ops) > 2 {
		e.To = c.Resolve(ops[2])
	} else {
		e.To = c.Resolve(withText(ops[1], strings.TrimSuffix(path.Base(ops[1].Text), ".git")))
	}
	return []Effect{e}
}
