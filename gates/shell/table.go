package shell

import (
	"slices"
	"strings"
)

// table is a small map with names in order. It never changes in place: with and
// without return a new table, so that states can share one.
type table[T any] []entry[T]

type entry[T any] struct {
	name string
	v    T
}

func (t table[T]) find(name string) (int, bool) {
	return slices.BinarySearchFunc(t, name, func(e entry[T], name string) int { return strings.Compare(e.name, name) })
}

func (t table[T]) get(name string) (v T, ok bool) {
	if i, found := t.find(name); found {
		return t[i].v, true
	}
	return v, false
}

func (t table[T]) with(name string, v T) table[T] {
	i, found := t.find(name)
	if found {
		c := slices.Clone(t)
		c[i].v = v
		return c
	}
	c := make(table[T], 0, len(t)+1)
	c = append(c, t[:i]...)
	c = append(c, entry[T]{name, v})
	return append(c, t[i:]...)
}

func (t table[T]) without(name string) table[T] {
	i, found := t.find(name)
	if !found {
		return t
	}
	c := make(table[T], 0, len(t)-1)
	return append(append(c, t[:i]...), t[i+1:]...)
}
