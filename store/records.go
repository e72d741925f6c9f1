package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// record is a kind of row of which the audit trail keeps every state.
type record struct {
	query string
	read  func(scanner) (object string, state any, err error)
	loose []string // fields that change without an audit row, or of which it keeps no whole copy
}

// records are what money, ranks and rights are decided by, by the kind that audit
// rows name them with.
func records() map[string]record {
	return map[string]record{
		"run": {"SELECT " + runColumns + " FROM " + runTables, func(row scanner) (string, any, error) {
			r, err := scanRun(row)
			return r.ID, r, err
		}, []string{"Stage", "JobStatus", "LogLines", "Progress"}},
		"result": {"SELECT " + resultColumns + " FROM " + resultTables, func(row scanner) (string, any, error) {
			r, err := scanResult(row)
			return r.Run, briefResult(r), err
		}, []string{"Claim"}},
		"environment": {"SELECT " + listedColumns + " FROM collections", func(row scanner) (string, any, error) {
			c, err := scanCollection(row)
			return c.ID, c, err
		}, []string{"Static"}},
		"token": {"SELECT " + tokenColumns + " FROM tokens", func(row scanner) (string, any, error) {
			k, err := scanToken(row)
			return k.ID, k, err
		}, nil},
		"verdict": {
			"SELECT " + verdictColumns + " FROM verdicts AS v WHERE version = (SELECT max(version) FROM verdicts WHERE collection = v.collection AND challenge = v.challenge)",
			func(row scanner) (string, any, error) {
				v, err := scanVerdict(row)
				return v.Collection + "/" + v.Challenge, v, err
			}, nil,
		},
	}
}

// VerifyRecords compares what runs, results, collections, verdicts and tokens are
// with what the audit trail says that they became: a trail whose every hash fits
// proves nothing about a row that somebody changed beside it. It returns what
// differs, at most maxExamined of it.
func (s *Store) VerifyRecords(ctx context.Context) (differ []string, err error) {
	err = s.view(ctx, "compare the records with the audit trail", func(t *tx) error {
		kinds := records()
		said, err := t.lastStates(ctx, kinds)
		if err != nil {
			return err
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			found, err := t.compare(ctx, kind, kinds[kind], said)
			if err != nil {
				return err
			}
			differ = append(differ, found...)
		}
		for _, object := range slices.Sorted(maps.Keys(said)) {
			differ = append(differ, object+" is gone")
		}
		differ = differ[:min(len(differ), maxExamined)]
		return nil
	})
	return differ, err
}

// lastStates is what the audit trail says last about every object of some kinds.
func (t *tx) lastStates(ctx context.Context, kinds map[string]record) (map[string]string, error) {
	rows, err := t.QueryContext(ctx, "SELECT object, state_after FROM audit WHERE state_after <> '' ORDER BY seq")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	last := map[string]string{}
	for rows.Next() {
		var object, after string
		if err := rows.Scan(&object, &after); err != nil {
			return nil, err
		}
		kind, _, _ := strings.Cut(object, ":")
		if _, ok := kinds[kind]; ok {
			last[object] = after
		}
	}
	return last, rows.Err()
}

// compare names the rows of a kind that are not what was said about them, and
// takes out of said what there is a row of.
func (t *tx) compare(ctx context.Context, kind string, k record, said map[string]string) (differ []string, err error) {
	rows, err := t.QueryContext(ctx, k.query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		id, state, err := k.read(rows)
		if err != nil {
			return nil, err
		}
		object := kind + ":" + id
		after, known := said[object]
		delete(said, object)
		if !known {
			differ = append(differ, object+" is not in the trail")
			continue
		}
		fields, err := changed(after, state, k.loose)
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", object, err)
		}
		if len(fields) > 0 {
			differ = append(differ, object+" has another "+strings.Join(fields, ", "))
		}
	}
	return differ, rows.Err()
}

// changed lists the fields of a state that are not what the trail has. Fields that
// only one of them has are those of another version of the arena.
func changed(after string, state any, loose []string) ([]string, error) {
	raw, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	var then, now map[string]any
	if err := json.Unmarshal(raw, &now); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(after), &then); err != nil {
		return nil, err
	}
	for _, field := range loose {
		delete(then, field)
	}
	maps.DeleteFunc(then, func(field string, was any) bool {
		is, ok := now[field]
		return !ok || agree(was, is)
	})
	return slices.Sorted(maps.Keys(then)), nil
}

// agree reports whether two JSON values are the same, as far as both have it.
func agree(was, is any) bool {
	switch was := was.(type) {
	case map[string]any:
		other, ok := is.(map[string]any)
		for name, v := range was {
			if v2, both := other[name]; both && !agree(v, v2) {
				return false
			}
		}
		return ok
	case []any:
		other, ok := is.([]any)
		return ok && slices.EqualFunc(was, other, agree)
	default:
		return reflect.DeepEqual(was, is)
	}
}
