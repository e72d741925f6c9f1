package pysyntax

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func samples(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "samples", "*.py"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(src)
	}
	return texts
}

// TestTruncatedSamples cuts the samples at every byte (the long ones more rarely
// with -short): what is left is accepted, or refused with a position inside the
// file, and never a panic.
func TestTruncatedSamples(t *testing.T) {
	for name, text := range samples(t) {
		if _, err := Parse([]byte(text), Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		step := 1
		if testing.Short() && len(text) > 2000 {
			step = 17
		}
		for n := 0; n < len(text); n += step {
			checkParse(t, []byte(text[:n]))
		}
	}
}

// checkParse asserts what holds for any input and returns the module, if any.
func checkParse(t testing.TB, src []byte) *Module {
	t.Helper()
	m, err := Parse(src, Options{MaxBytes: 2 << 20})
	if err != nil {
		var e *Error
		lines := strings.Count(string(src), "\n") + strings.Count(string(src), "\r") + 1
		if !errors.As(err, &e) || e.Line < 1 || e.Line > lines+1 || e.Column < 1 || e.Msg == "" {
			t.Fatalf("bad error %#v for %q", err, src)
		}
		return nil
	}
	depth := 0
	Inspect(m, func(n Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth++; depth > MaxDepth+1 {
			t.Fatalf("tree of depth %d for %q", depth, src)
		}
		if r := n.Range(); r.Start > r.End || int(r.End) > len(m.Text) {
			t.Fatalf("%T spans %d to %d of %d bytes in %q", n, r.Start, r.End, len(m.Text), src)
		}
		return true
	})
	return m
}

// TestRandomSources strings pieces of Python together at random.
func TestRandomSources(t *testing.T) {
	pieces := strings.Split(`( ) [ ] { } , : ; . = == := -> ! * ** / // @ ~ - + < if else elif for in while def
class return yield from import as with async await lambda not and or is None pass match case type _ x f
1 0x1 1.5j 'a' b"b" f"{x} f' f"""{ } {{ :> !r} " ' """ \ # é`, " ")
	pieces = append(pieces, "\n", "\n    ", "\n\t", "\n  ", " ", "\\\n", "\f", "\r")
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "parts")
		m, err := Parse([]byte(strings.Join(parts, " ")), Options{})
		if err == nil && m == nil {
			t.Fatal("neither a module nor an error")
		}
	})
}

// TestInspectSeesEverything compares the walk with one by reflection.
func TestInspectSeesEverything(t *testing.T) {
	_, cases := readCases(t)
	texts := samples(t)
	for _, c := range cases {
		texts[c.name] = c.source
	}
	for name, text := range texts {
		m, err := Parse([]byte(text), Options{})
		if err != nil {
			continue
		}
		got := map[Node]int{}
		depth := 0
		Inspect(m, func(n Node) bool {
			if n == nil {
				depth--
				return false
			}
			depth++
			got[n]++
			return true
		})
		want := map[Node]int{}
		collect(reflect.ValueOf(m), want)
		if !reflect.DeepEqual(got, want) || depth != 0 {
			t.Errorf("%s: the walk visits %d nodes, there are %d; it ends at depth %d", name, len(got), len(want), depth)
		}
	}
}

// collect finds all nodes below v.
func collect(v reflect.Value, nodes map[Node]int) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			collect(v.Elem(), nodes)
		}
	case reflect.Pointer:
		if n, ok := v.Interface().(Node); ok && !v.IsNil() {
			nodes[n]++
			for i := range v.Elem().NumField() {
				collect(v.Elem().Field(i), nodes)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Pointer || v.Type().Elem().Kind() == reflect.Interface {
			for i := range v.Len() {
				collect(v.Index(i), nodes)
			}
		}
	}
}

func TestInspectSkipsBelowFalse(t *testing.T) {
	m, err := Parse([]byte("f(a, b)\ng(c)\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	Inspect(m, func(n Node) bool {
		if name, ok := n.(*Name); ok {
			names = append(names, name.ID)
		}
		call, ok := n.(*Call)
		return !ok || m.Source(call.Func) == "g"
	})
	if got := strings.Join(names, " "); got != "g c" {
		t.Errorf("visited %q, want only what belongs to g", got)
	}
}

// TestPositions shows what nodes cover; the comparison with CPython checks all.
func TestPositions(t *testing.T) {
	const text = "\n@d(1)\ndef f(a, *b: int): # c\n  return ((a)\n    .x + 1);\n\nprint((yield), (i for i in é), (1, 2))\n"
	m, err := Parse([]byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"*pysyntax.FunctionDef 3:1 `def f(a, *b: int): # c\n  return ((a)\n    .x + 1);`",
		"*pysyntax.BinOp 4:11 `(a)\n    .x + 1`",
		"*pysyntax.Yield 7:8 `yield`",
		"*pysyntax.GeneratorExp 7:16 `(i for i in é)`",
		"*pysyntax.Tuple 7:33 `(1, 2)`",
	}
	var got []string
	Inspect(m, func(n Node) bool {
		switch n.(type) {
		case *FunctionDef, *BinOp, *Yield, *GeneratorExp, *Tuple:
			at := m.Position(n.Range().Start)
			got = append(got, fmt.Sprintf("%T %d:%d `%s`", n, at.Line, at.Column, m.Source(n)))
		}
		return true
	})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestLimits(t *testing.T) {
	repeat := strings.Repeat
	tests := []struct {
		name, source string
		kind         ErrorKind
		ok           bool
	}{
		{"200 parentheses", repeat("(", 200) + "1" + repeat(")", 200), 0, true},
		{"201 parentheses", repeat("(", 201) + "1" + repeat(")", 201), TooDeep, false},
		{"a million open brackets", repeat("[", 1<<20), TooDeep, false},
		{"99 blocks", blocks(99) + repeat(" ", 99) + "pass", 0, true},
		{"100 blocks", blocks(100) + repeat(" ", 100) + "pass", TooDeep, false},
		{"1000 operators", "a" + repeat(" + a", 1000), 0, true},
		{"100000 operators", "a" + repeat(" + a", 100000), TooDeep, false},
		{"100000 attributes", "a" + repeat(".a", 100000), TooDeep, false},
		{"100000 calls", "a" + repeat("()", 100000), TooDeep, false},
		{"1000 signs", repeat("-", 1000) + "a", 0, true},
		{"a million signs", repeat("-", 1<<20) + "a", TooDeep, false},
		{"a million negations", repeat("not ", 1<<18) + "a", TooDeep, false},
		{"many lambdas", repeat("lambda: ", 1<<17) + "a", TooDeep, false},
		{"many powers", "a" + repeat("**a", 1<<18), TooDeep, false},
		{"many conditionals", repeat("a if a else ", 1<<16) + "a", TooDeep, false},
		{"many branches", "if a: pass\n" + repeat("elif a: pass\n", 1<<16), TooDeep, false},
		{"many alternatives", "a" + repeat(" or a", 1<<17), 0, true},
		{"many arguments", "f(" + repeat("a.b, ", 1<<17) + ")", 0, true},
		{"many dots in an import", "import a" + repeat(".a", 1<<18), 0, true},
		{"chains in parentheses", chains(100, 100), TooDeep, false},
		{"150 f-strings", fstrings(150), TooDeep, false},
		{"100 f-strings", fstrings(100), 0, true},
		{"long integer", repeat("9", 4301), SyntaxError, false},
		{"long hexadecimal integer", "0x" + repeat("f", 1<<16), 0, true},
		{"too large", repeat("#", 2<<20+1), TooLarge, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.source), Options{MaxBytes: 2 << 20})
			var e *Error
			if tt.ok != (err == nil) || errors.As(err, &e) && e.Kind != tt.kind {
				t.Errorf("got %v, want kind %q (accepted: %v)", err, tt.kind, tt.ok)
			}
		})
	}
}

// blocks returns n headers, each one space deeper than the last.
func blocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "if a:\n")
	}
	return b.String()
}

// chains returns n sums of length terms, each the first term of the next.
func chains(n, length int) string {
	return strings.Repeat("(", n) + "a" + strings.Repeat(strings.Repeat(" + a", length)+")", n)
}

// fstrings returns n f-strings, each in a field of the one before.
func fstrings(n int) string {
	return strings.Repeat(`f"{`, n) + "a" + strings.Repeat(`}"`, n)
}

func TestEncodings(t *testing.T) {
	tests := []struct {
		name, source string
		want         string // the value of the only string, or part of the error
		encoding     string
	}{
		{"utf-8 by default", "'é'", "é", "utf-8"},
		{"byte order mark", "\xef\xbb\xbf'é'", "é", "utf-8"},
		{"byte order mark and declaration", "\xef\xbb\xbf# coding: utf-8\n'é'", "é", "utf-8"},
		{"latin-1", "# -*- coding: latin-1 -*-\n'\xe9'", "é", "iso-8859-1"},
		{"second line", "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'", "€", "cp1252"},
		{"cyrillic", "# coding: koi8-r\n'\xd0'", "п", "koi8-r"},
		{"iso-8859-15", "# coding=ISO_8859-15\n'\xa4'", "€", "iso-8859-15"},
		{"ascii", "# coding: us-ascii\n'a'", "a", "ascii"},
		{"declaration on line three does not count", "\n\n# coding: latin-1\n'é'", "é", "utf-8"},
		{"declaration behind code does not count", "0\n# coding: latin-1\n'é'", "é", "utf-8"},
		{"old Mac line ends", "# a\r'b\\\rc'\r", "bc", "utf-8"},
		{"Windows line ends", "'''a\r\nb'''\r\n", "a\nb", "utf-8"},
		{"byte beyond ascii", "# coding: ascii\n'\xe9'", "line 2, column 2: encoding error", ""},
		{"undefined byte", "# coding: cp1252\n'\x81'", "line 2, column 2: encoding error", ""},
		{"unknown encoding", "# coding: klingon\n", `unknown encoding "klingon"`, ""},
		{"mark and other declaration", "\xef\xbb\xbf# coding: latin-1\n", "byte order mark", ""},
		{"utf-16", "\xff\xfe'\x00a\x00'\x00", "UTF-16", ""},
		{"invalid utf-8 in a string", "'a\xffb'", "line 1, column 3: encoding error", ""},
		{"invalid utf-8 in a name", "a\xff", "line 1, column 2: encoding error", ""},
		{"invalid utf-8 in a comment", "# \xff\n'a'", "a", "utf-8"},
		{"NUL", "a\nb\x00", "line 2, column 2: syntax error", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Parse([]byte(tt.source), Options{})
			if tt.encoding == "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got error %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			Inspect(m, func(n Node) bool {
				if c, ok := n.(*Constant); ok && c.Kind == Str {
					got = c.Value
				}
				return true
			})
			if got != tt.want || m.Encoding != tt.encoding {
				t.Errorf("got %q in %q, want %q in %q", got, m.Encoding, tt.want, tt.encoding)
			}
		})
	}
}

func TestCharacterNames(t *testing.T) {
	tests := map[string]string{
		"LATIN SMALL LETTER A":             "a",
		"latin small letter a":             "a",
		"LF":                               "\n",
		"BYTE ORDER MARK":                  "\ufeff",
		"VS17":                             "\U000e0100",
		"CJK UNIFIED IDEOGRAPH-4E00":       "一",
		"CJK COMPATIBILITY IDEOGRAPH-F900": "\uf900",
		"HANGUL SYLLABLE GA":               "가",
		"HANGUL SYLLABLE GGWALB":           "꽓",
		"GRINNING FACE":                    "😀",
	}
	for name, want := range tests {
		m, err := Parse([]byte(`"\N{`+name+`}"`), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := m.Body[0].(*ExprStmt).Value.(*Constant).Value; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"", "CJK UNIFIED IDEOGRAPH-0041", "KEYCAP DIGIT ONE", "<control>"} {
		if _, err := Parse([]byte(`"\N{`+name+`}"`), Options{}); err == nil {
			t.Errorf("%q is accepted as a name", name)
		}
	}
}
