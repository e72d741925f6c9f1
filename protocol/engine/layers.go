package engine

import (
	"slices"
	"strings"
	"sync"
)

// layers are the images that steps of builds on one connection made on the way
// to their results, by short id. They have neither names nor labels.
type layers struct {
	mu   sync.Mutex
	made map[string]bool
}

// maxLayers bounds what is remembered. What is beyond it stays in the engine's
// cache.
const maxLayers = 10_000

// shortID is how a build's log writes ids.
const shortID = 12

func brief(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	return id[:min(shortID, len(id))]
}

// add notes the images of a build but its result.
func (l *layers) add(ids []string, result string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = map[string]bool{}
	}
	for _, id := range ids {
		if id != brief(result) && len(l.made) < maxLayers {
			l.made[id] = true
		}
	}
	// It may be a step of a larger build that was there before.
	delete(l.made, brief(result))
}

func (l *layers) has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return id != "" && l.made[brief(id)]
}

func (l *layers) drop(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.made, brief(id))
}

// steps reads from a build's log which images it made: those that follow a step
// that is neither FROM nor answered from the cache. A log in another form, as
// other builders write it, names none. What a step prints stands between these
// lines and may look like them; so an image that some FROM named is never one.
type steps struct {
	from, made bool
	found      []string
	bases      map[string]bool
}

func (s *steps) line(text string) {
	if rest, ok := strings.CutPrefix(text, "Step "); ok {
		if _, instruction, ok := strings.Cut(rest, " : "); ok {
			word, _, _ := strings.Cut(instruction, " ")
			s.from = strings.EqualFold(word, "FROM")
			s.made = !s.from
		}
		return
	}
	after, ok := strings.CutPrefix(text, " ---> ")
	switch {
	case !ok:
	case after == "Using cache":
		s.made = false
	case !isShort(after):
	case s.from:
		if s.bases == nil {
			s.bases = map[string]bool{}
		}
		s.bases[after] = true
	case s.made && len(s.found) < maxLayers:
		s.found = append(s.found, after)
	}
}

// ids are the images that were made.
func (s *steps) ids() []string {
	return slices.DeleteFunc(s.found, func(id string) bool { return s.bases[id] })
}

func isShort(id string) bool {
	return len(id) == shortID && strings.Trim(id, "0123456789abcdef") == ""
}
