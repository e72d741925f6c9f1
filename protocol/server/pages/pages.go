package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	html "html/template"
	"io/fs"
	"path"
	"strings"
	text "text/template"
)

//go:embed html/*.html
var htmlFiles embed.FS

//go:embed text/*
var textFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// Renderer holds the parsed templates and the assets. It is safe for concurrent
// use.
type Renderer struct {
	html   map[string]*html.Template // by page: layout and page in one set
	text   *text.Template
	assets map[string]Asset
}

// Asset is a file that pages load.
type Asset struct {
	Content []byte
	Type    string // content type
	Version string // changes with the content
}

// New parses everything that is embedded.
func New() (*Renderer, error) {
	r := &Renderer{html: map[string]*html.Template{}, assets: map[string]Asset{}}
	if err := r.readAssets(); err != nil {
		return nil, err
	}
	layout, err := html.New("layout.html").Funcs(html.FuncMap(r.functions())).ParseFS(htmlFiles, "html/layout.html", "html/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse the layout of the pages: %w", err)
	}
	names, err := fs.Glob(htmlFiles, "html/*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		base := strings.TrimSuffix(path.Base(name), ".html")
		if base == "layout" || base == "parts" {
			continue
		}
		set, err := layout.Clone()
		if err == nil {
			set, err = set.ParseFS(htmlFiles, name)
		}
		if err != nil {
			return nil, fmt.Errorf("parse the page %s: %w", base, err)
		}
		r.html[base] = set
	}
	if r.text, err = text.New("text").Funcs(text.FuncMap(r.functions())).ParseFS(textFiles, "text/*"); err != nil {
		return nil, fmt.Errorf("parse the texts: %w", err)
	}
	return r, nil
}

func (r *Renderer) readAssets() error {
	files, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return err
	}
	for _, f := range files {
		content, err := fs.ReadFile(assetFiles, "assets/"+f.Name())
		if err != nil {
			return err
		}
		kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(f.Name())]
		if kind == "" {
			return errors.New("the asset " + f.Name() + " has no content type")
		}
		sum := sha256.Sum256(content)
		r.assets[f.Name()] = Asset{Content: content, Type: kind, Version: hex.EncodeToString(sum[:6])}
	}
	return nil
}

// Asset returns a file that pages load; false when there is none of that name.
func (r *Renderer) Asset(name string) (Asset, bool) {
	a, ok := r.assets[name]
	return a, ok
}

// HTML renders a page.
func (r *Renderer) HTML(page string, view any) ([]byte, error) {
	set := r.html[page]
	if set == nil {
		return nil, errors.New("there is no page " + page)
	}
	var out bytes.Buffer
	if err := set.ExecuteTemplate(&out, "layout.html", view); err != nil {
		return nil, fmt.Errorf("render the page %s: %w", page, err)
	}
	return out.Bytes(), nil
}

// Text renders a text by the name of its file, such as guide.md.
func (r *Renderer) Text(name string, view any) ([]byte, error) {
	var out bytes.Buffer
	if err := r.text.ExecuteTemplate(&out, name, view); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}
