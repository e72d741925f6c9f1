package task

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// parseTOML reads a Harbor task.toml. Values carry no positions; errors do.
func parseTOML(src []byte, limits Limits) (v Value, err error) {
	if len(src) > limits.MaxFrontmatter {
		return Value{}, &syntaxError{1, fmt.Sprintf("the file has %d bytes; at most %d are read", len(src), limits.MaxFrontmatter), "move long text into another file"}
	}
	defer func() {
		if recover() != nil {
			v, err = Value{}, &syntaxError{1, "the TOML parser failed on this text", "simplify it"}
		}
	}()
	var table map[string]any
	if err := toml.Unmarshal(src, &table); err != nil {
		line := 1
		if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = decode.Position()
		}
		return Value{}, &syntaxError{line, "the TOML cannot be read: " + err.Error(), "correct the syntax at this line"}
	}
	return tomlValue(table, limits.MaxNesting)
}

func tomlValue(x any, depth int) (Value, error) {
	if depth < 0 {
		return Value{}, &syntaxError{1, "values are nested too deep", "flatten them"}
	}
	switch x := x.(type) {
	case map[string]any:
		v := Value{Kind: Map}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			w, err := tomlValue(x[key], depth-1)
			if err != nil {
				return Value{}, err
			}
			v.Fields = append(v.Fields, Field{Key: key, Value: w})
		}
		return v, nil
	case []any:
		v := Value{Kind: List}
		for _, item := range x {
			w, err := tomlValue(item, depth-1)
			if err != nil {
				return Value{}, err
			}
			v.Items = append(v.Items, w)
		}
		return v, nil
	case string:
		return Value{Kind: Text, Scalar: x, Quoted: true}, nil
	case bool:
		return Value{Kind: Bool, Scalar: fmt.Sprint(x)}, nil
	case int64, float64:
		return Value{Kind: Number, Scalar: fmt.Sprint(x)}, nil
	default: // dates and times
		return Value{Kind: Text, Scalar: fmt.Sprint(x)}, nil
	}
}
