package screen

import (
	"fmt"
	"slices"
	"strings"
)

// Keys finds bindings. Make it with NewKeys.
type Keys struct {
	rows   []Binding
	byName map[Scope]map[string]Binding
}

// NewKeys indexes a key table. It refuses one in which a key of a scope means two
// things.
func NewKeys(rows []Binding) (Keys, error) {
	k := Keys{rows: rows, byName: map[Scope]map[string]Binding{}}
	for _, b := range rows {
		names := k.byName[b.Scope]
		if names == nil {
			names = map[string]Binding{}
			k.byName[b.Scope] = names
		}
		for _, key := range b.Keys {
			if other, taken := names[name(key)]; taken {
				return k, fmt.Errorf("the key %s of %s means both %s and %s", key, b.Scope, other.Intent, b.Intent)
			}
			names[name(key)] = b
		}
	}
	return k, nil
}

// KeyName is a key as people read it.
func KeyName(key string) string {
	arrows := map[string]string{"up": "\u2191", "down": "\u2193", "left": "\u2190", "right": "\u2192"}
	if a, ok := arrows[key]; ok {
		return a
	}
	return strings.NewReplacer("ctrl+", "^", "shift+", "S-").Replace(key)
}

// name is a key as Bubble Tea spells it.
func name(key string) string {
	if key == "space" {
		return " "
	}
	return key
}

// Find returns the binding of a key in the first scope that knows it.
func (k Keys) Find(scopes []Scope, key string) (Binding, bool) {
	for _, s := range scopes {
		if b, ok := k.byName[s][key]; ok {
			return b, true
		}
	}
	return Binding{}, false
}

// Live returns the bindings that can be reached in scopes: of keys that mean two
// things, only the inner one. Rows without a reachable key are left out.
func (k Keys) Live(scopes []Scope) []Binding {
	var live []Binding
	taken := map[string]bool{}
	for _, s := range scopes {
		var here []string
		for _, b := range k.rows {
			if b.Scope != s {
				continue
			}
			b.Keys = slices.DeleteFunc(slices.Clone(b.Keys), func(key string) bool { return taken[name(key)] })
			for _, key := range b.Keys {
				here = append(here, name(key))
			}
			if len(b.Keys) > 0 {
				live = append(live, b)
			}
		}
		for _, key := range here {
			taken[key] = true
		}
	}
	return live
}

// Commands returns the bindings that can be chosen by name in scopes: those of
// Live, and those without a key. What only moves is left out.
func (k Keys) Commands(scopes []Scope) []Binding {
	moves := []Intent{Up, Down, PageUp, PageDown, HalfUp, HalfDown, Top, Bottom, Left, Right, Palette, Keep, Clear, Complete}
	all := k.Live(scopes)
	for _, b := range k.rows {
		if len(b.Keys) == 0 && slices.Contains(scopes, b.Scope) {
			all = append(all, b)
		}
	}
	return slices.DeleteFunc(all, func(b Binding) bool { return slices.Contains(moves, b.Intent) })
}
