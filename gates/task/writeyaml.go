package task

import (
	"encoding/json"
	"regexp"
	"strings"
)

// writeYAML writes a map in block style, lists and what is in them in flow style. Texts are always quoted, so that no
// reader takes them for something else.
func writeYAML(b *strings.Builder, v Value, depth int) {
	for _, f := range v.Fields {
		b.WriteString(strings.Repeat("  ", depth))
		b.WriteString(yamlKey(f.Key))
		b.WriteByte(':')
		if f.Value.Kind == Map && len(f.Value.Fields) > 0 {
			b.WriteByte('\n')
			writeYAML(b, f.Value, depth+1)
			continue
		}
		b.WriteByte(' ')
		b.WriteString(flowYAML(f.Value))
		b.WriteByte('\n')
	}
}

// flowYAML is a value on one line.
func flowYAML(v Value) string {
	var parts []string
	switch v.Kind {
	case List:
		for _, item := range v.Items {
			parts = append(parts, flowYAML(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Map:
		for _, f := range v.Fields {
			parts = append(parts, yamlKey(f.Key)+": "+flowYAML(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case Bool:
		if value, ok := v.AsBool(); ok && value {
			return "true"
		}
		return "false"
	case Number:
		if scalar := strings.ReplaceAll(v.Scalar, "_", ""); plainNumber.MatchString(scalar) {
			return scalar
		}
		return quoteYAML(v.Scalar)
	case Text:
		return quoteYAML(v.Scalar)
	default:
		return "null"
	}
}

// plainNumber is a number that every YAML reader takes for the same one.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// plainKey is a key that needs no quotes, if it is not one of the words that YAML takes for a value.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{2,}$`)

func yamlKey(key string) string {
	switch strings.ToLower(key) {
	case "yes", "off", "true", "false", "null":
		return quoteYAML(key)
	}
	if plainKey.MatchString(key) {
		return key
	}
	return quoteYAML(key)
}

// quoteYAML writes a text as a JSON string, which is one in YAML too.
func quoteYAML(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
