package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/posttrainarena/arena/protocol/api"
)

// answer writes the one document of a verb: the bytes as they came, and a
// newline.
func (env *environ) answer(raw json.RawMessage) error {
	_, err := env.Stdout.Write(append(bytes.TrimSpace(raw), '\n'))
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// say writes one line for people. That nobody may be reading is no failure.
func (env *environ) say(format string, args ...any) {
	_, _ = fmt.Fprintln(env.Stderr, visible(fmt.Sprintf(format, args...)))
}

// tell writes lines for people.
func (env *environ) tell(lines []string) {
	for _, l := range lines {
		env.say("%s", l)
	}
}

// visible replaces what could move a terminal's cursor, colour it or reorder its
// text: names, notes and log lines are other people's.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return '�'
		default:
			return r
		}
	}, s)
}

// readUpTo returns what a --file flag names; - is standard input. It reads no more
// than limit bytes.
func (env *environ) readUpTo(name string, limit int64) ([]byte, error) {
	in, from := env.Stdin, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usagef("read the request: %w", err)
		}
		defer f.Close()
		in, from = f, name
	}
	raw, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		return nil, usagef("read the request from %s: %w", from, err)
	case int64(len(raw)) > limit:
		return nil, usagef("%s is larger than the %d KiB that a request may have", from, limit>>10)
	}
	return raw, nil
}

// decode reads a request from a --file flag. An unknown member is refused here:
// it is a misspelling, and silently dropping it would send something else than
// was meant.
func (env *environ) decode(name string, into any) error {
	return env.decodeUpTo(name, api.MaxBody, into)
}

// decodeUpTo is decode for a file that may be larger than other requests.
func (env *environ) decodeUpTo(name string, limit int64, into any) error {
	raw, err := env.readUpTo(name, limit)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return usagef("%s does not hold the request as JSON: %w", name, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return usagef("%s holds more than one JSON value", name)
	}
	return nil
}

// write puts a file in place in one step, so that an interrupt never leaves half
// of it.
func write(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// argument is a word as a shell would need it.
func argument(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// next is the line that names the exact command to run next.
func next(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = argument(w)
	}
	return "Next: arena " + strings.Join(quoted, " ")
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
