package client

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// maxGuide bounds how much of a guide is read, in bytes.
const maxGuide = 1 << 20

// Guide is the arena's own guide, in Markdown.
func (c *Client) Guide(ctx context.Context) (string, error) {
	k, err := c.prepare("guide", nil)
	if err != nil {
		return "", err
	}
	k.accept = api.ContentMarkdown
	res, w, err := c.send(ctx, k)
	if err != nil {
		return "", err
	}
	defer w.end()
	defer res.Body.Close()
	if err := refuseOther(k, res); err != nil {
		return "", err
	}
	if res.StatusCode >= 400 {
		return "", c.failure(ctx, k, res, w)
	}
	if kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); kind != api.ContentMarkdown {
		return "", notArena(k, res)
	}
	raw, err := readAll(res.Body, maxGuide)
	if err != nil {
		return "", c.broken(ctx, k, w, err)
	}
	return string(raw), nil
}

// ClientDigest is the SHA-256, in hex, of the command line that the arena serves
// for a platform in Go's words, without loading it; empty when the arena serves
// none for it.
func (c *Client) ClientDigest(ctx context.Context, goos, arch string) (string, error) {
	k, err := c.prepare("clientBinary", nil, goos, arch)
	if err != nil {
		return "", err
	}
	k.route.Method, k.accept = "HEAD", api.ContentBinary
	res, w, err := c.send(ctx, k)
	if err != nil {
		return "", err
	}
	defer w.end()
	defer res.Body.Close()
	switch {
	case res.StatusCode == protocol.KindNotFound.Status():
		return "", nil
	case res.StatusCode != 200:
		return "", ErrNotArena.Detailf("%s: the answer is %s.", k.what(), res.Status)
	}
	digest, ok := strings.CutPrefix(strings.Trim(res.Header.Get("ETag"), `"`), "sha256-")
	if sum, err := hex.DecodeString(digest); !ok || err != nil || len(sum) != 32 {
		return "", ErrNotArena.Detailf("%s: the answer carries no digest.", k.what())
	}
	return digest, nil
}
