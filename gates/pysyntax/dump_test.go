package pysyntax

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// dumper writes a tree in the normal form that testdata/dump.py documents.
type dumper struct {
	m   *Module
	buf []byte

	// How the other side works: without positions at all, or without those
	// inside f-strings.
	noPositions, oldFStrings bool
}

func dumpTree(m *Module) string {
	d := dumper{m: m}
	d.node(m)
	return string(d.buf)
}

func (d *dumper) word(s string) {
	d.buf = append(append(d.buf, s...), ' ')
}

func (d *dumper) flag(b bool, yes, no string) {
	if b {
		d.word(yes)
	} else {
		d.word(no)
	}
}

func (d *dumper) name(s string) {
	if s == "" {
		s = "~"
	}
	d.word(s)
}

// open starts a node with a position.
func (d *dumper) open(class string, s Span) {
	d.buf = append(append(append(d.buf, '('), class...), ' ')
	if d.noPositions {
		return
	}
	from, to := d.m.Position(s.Start), d.m.Position(s.End)
	d.buf = strconv.AppendInt(d.buf, int64(from.Line), 10)
	d.buf = append(d.buf, ':')
	d.buf = strconv.AppendInt(d.buf, int64(from.Column-1), 10)
	d.buf = append(d.buf, '-')
	d.buf = strconv.AppendInt(d.buf, int64(to.Line), 10)
	d.buf = append(d.buf, ':')
	d.buf = strconv.AppendInt(d.buf, int64(to.Column-1), 10)
	d.buf = append(d.buf, ' ')
}

func (d *dumper) close() { d.buf = append(d.buf, ')') }

// plain writes a node that has no position on the other side.
func (d *dumper) plain(class string, fields ...any) {
	d.buf = append(append(append(d.buf, '('), class...), ' ')
	d.fields(fields)
}

// full writes a node with a position.
func (d *dumper) full(class string, s Span, fields ...any) {
	d.open(class, s)
	d.fields(fields)
}

func (d *dumper) fields(fields []any) {
	for _, f := range fields {
		switch f := f.(type) {
		case nil:
			d.word("~")
		case string:
			d.name(f)
		case []string:
			d.buf = append(d.buf, '[')
			for _, s := range f {
				d.word(s)
			}
			d.buf = append(d.buf, ']')
		case bool:
			d.flag(f, "1", "0")
		case int:
			d.word(strconv.Itoa(f))
		case fmt.Stringer:
			d.word(f.String())
		case *JoinedStr:
			if f == nil {
				d.word("~")
			} else {
				d.node(f)
			}
		case *Arg:
			if f == nil {
				d.word("~")
			} else {
				d.node(f)
			}
		case Node:
			d.node(f)
		case []Expr:
			dumpList(d, f)
		case []Stmt:
			dumpList(d, f)
		case []Pattern:
			dumpList(d, f)
		case []TypeParam:
			dumpList(d, f)
		case []*Keyword:
			dumpList(d, f)
		case []*Arg:
			dumpList(d, f)
		case []*Alias:
			dumpList(d, f)
		case []*Comprehension:
			dumpList(d, f)
		case []*WithItem:
			dumpList(d, f)
		case []*MatchCase:
			dumpList(d, f)
		case []*ExceptHandler:
			dumpList(d, f)
		case []CmpOperator:
			d.buf = append(d.buf, '[')
			for _, op := range f {
				d.word(op.String())
			}
			d.buf = append(d.buf, ']')
		default:
			panic(fmt.Sprintf("dump: %T", f))
		}
	}
	d.close()
}

func dumpList[T Node](d *dumper, list []T) {
	d.buf = append(d.buf, '[')
	for _, n := range list {
		if Node(n) == nil {
			d.word("~")
		} else {
			d.node(n)
		}
	}
	d.buf = append(d.buf, ']')
}

func asyncName(async bool, class string) string {
	if async {
		return "Async" + class
	}
	return class
}

func (d *dumper) node(n Node) {
	switch n := n.(type) {
	case *Module:
		d.plain("Module", n.Body)
	case *Arguments:
		var vararg, kwarg any
		if n.Vararg != nil {
			vararg = n.Vararg
		}
		if n.Kwarg != nil {
			kwarg = n.Kwarg
		}
		d.plain("arguments", n.PosOnly, n.Args, vararg, n.KwOnly, n.KwDefaults, kwarg, n.Defaults)
	case *Arg:
		d.full("arg", n.Span, n.Name, n.Annotation)
	case *Keyword:
		d.full("keyword", n.Span, n.Name, n.Value)
	case *Alias:
		d.full("alias", n.Span, n.Name, n.AsName)
	case *WithItem:
		d.plain("withitem", n.Context, n.Target)
	case *MatchCase:
		d.plain("match_case", n.Pattern, n.Guard, n.Body)
	case *Comprehension:
		d.plain("comprehension", n.Target, n.Iter, n.Ifs, n.Async)
	case *ExceptHandler:
		d.full("ExceptHandler", n.Span, n.Type, n.Name, n.Body)
	case *TypeVar:
		d.full("TypeVar", n.Span, n.Name, n.Bound, n.Default)
	case *ParamSpec:
		d.full("ParamSpec", n.Span, n.Name, n.Default)
	case *TypeVarTuple:
		d.full("TypeVarTuple", n.Span, n.Name, n.Default)
	case Stmt:
		d.stmt(n)
	case Expr:
		d.expr(n)
	case Pattern:
		d.pattern(n)
	default:
		panic(fmt.Sprintf("dump: %T", n))
	}
}

func (d *dumper) stmt(n Stmt) {
	switch n := n.(type) {
	case *FunctionDef:
		d.full(asyncName(n.Async, "FunctionDef"), n.Span, n.Name, n.Args, n.Body, n.Decorators, n.Returns, n.TypeParams)
	case *ClassDef:
		d.full("ClassDef", n.Span, n.Name, n.Bases, n.Keywords, n.Body, n.Decorators, n.TypeParams)
	case *Return:
		d.full("Return", n.Span, n.Value)
	case *Delete:
		d.full("Delete", n.Span, n.Targets)
	case *Assign:
		d.full("Assign", n.Span, n.Targets, n.Value)
	case *TypeAlias:
		d.full("TypeAlias", n.Span, n.Name, n.TypeParams, n.Value)
	case *AugAssign:
		d.full("AugAssign", n.Span, n.Target, n.Op, n.Value)
	case *AnnAssign:
		d.full("AnnAssign", n.Span, n.Target, n.Annotation, n.Value, n.Simple)
	case *For:
		d.full(asyncName(n.Async, "For"), n.Span, n.Target, n.Iter, n.Body, n.Orelse)
	case *While:
		d.full("While", n.Span, n.Test, n.Body, n.Orelse)
	case *If:
		d.full("If", n.Span, n.Test, n.Body, n.Orelse)
	case *With:
		d.full(asyncName(n.Async, "With"), n.Span, n.Items, n.Body)
	case *Match:
		d.full("Match", n.Span, n.Subject, n.Cases)
	case *Raise:
		d.full("Raise", n.Span, n.Exc, n.Cause)
	case *Try:
		class := "Try"
		if n.Star {
			class = "TryStar"
		}
		d.full(class, n.Span, n.Body, n.Handlers, n.Orelse, n.Finalbody)
	case *Assert:
		d.full("Assert", n.Span, n.Test, n.Msg)
	case *Import:
		d.full("Import", n.Span, n.Names)
	case *ImportFrom:
		d.full("ImportFrom", n.Span, n.Module, n.Names, n.Level)
	case *Global:
		d.full("Global", n.Span, n.Names)
	case *Nonlocal:
		d.full("Nonlocal", n.Span, n.Names)
	case *ExprStmt:
		d.full("Expr", n.Span, n.Value)
	case *Pass:
		d.full("Pass", n.Span)
	case *Break:
		d.full("Break", n.Span)
	case *Continue:
		d.full("Continue", n.Span)
	default:
		panic(fmt.Sprintf("dump: %T", n))
	}
}

func (d *dumper) expr(n Expr) {
	switch n := n.(type) {
	case *BoolOp:
		d.full("BoolOp", n.Span, n.Op, n.Values)
	case *NamedExpr:
		d.full("NamedExpr", n.Span, n.Target, n.Value)
	case *BinOp:
		d.full("BinOp", n.Span, n.Left, n.Op, n.Right)
	case *UnaryOp:
		d.full("UnaryOp", n.Span, n.Op, n.Operand)
	case *Lambda:
		d.full("Lambda", n.Span, n.Args, n.Body)
	case *IfExp:
		d.full("IfExp", n.Span, n.Test, n.Body, n.Orelse)
	case *Dict:
		d.full("Dict", n.Span, n.Keys, n.Values)
	case *Set:
		d.full("Set", n.Span, n.Elts)
	case *ListComp:
		d.full("ListComp", n.Span, n.Elt, n.Generators)
	case *SetComp:
		d.full("SetComp", n.Span, n.Elt, n.Generators)
	case *DictComp:
		d.full("DictComp", n.Span, n.Key, n.Value, n.Generators)
	case *GeneratorExp:
		d.full("GeneratorExp", n.Span, n.Elt, n.Generators)
	case *Await:
		d.full("Await", n.Span, n.Value)
	case *Yield:
		d.full("Yield", n.Span, n.Value)
	case *YieldFrom:
		d.full("YieldFrom", n.Span, n.Value)
	case *Compare:
		d.full("Compare", n.Span, n.Left, n.Ops, n.Comparators)
	case *Call:
		d.full("Call", n.Span, n.Func, n.Args, n.Keywords)
	case *FormattedValue:
		d.full("FormattedValue", n.Span, n.Value, conversionCode(n.Conversion), n.FormatSpec)
	case *Interpolation:
		d.open("Interpolation", n.Span)
		d.node(n.Value)
		d.buf = append(append(append(d.buf, '"'), n.Str...), '"')
		d.fields([]any{conversionCode(n.Conversion), n.FormatSpec})
	case *JoinedStr:
		d.joinedStr(n)
	case *TemplateStr:
		d.full("TemplateStr", n.Span, n.Values)
	case *Constant:
		d.constant(n)
	case *Attribute:
		d.full("Attribute", n.Span, n.Value, n.Attr, n.Ctx)
	case *Subscript:
		d.full("Subscript", n.Span, n.Value, n.Slice, n.Ctx)
	case *Starred:
		d.full("Starred", n.Span, n.Value, n.Ctx)
	case *Name:
		d.full("Name", n.Span, n.ID, n.Ctx)
	case *List:
		d.full("List", n.Span, n.Elts, n.Ctx)
	case *Tuple:
		d.full("Tuple", n.Span, n.Elts, n.Ctx)
	case *Slice:
		d.full("Slice", n.Span, n.Lower, n.Upper, n.Step)
	default:
		panic(fmt.Sprintf("dump: %T", n))
	}
}

func (d *dumper) pattern(n Pattern) {
	switch n := n.(type) {
	case *MatchValue:
		d.full("MatchValue", n.Span, n.Value)
	case *MatchSingleton:
		d.full("MatchSingleton", n.Span, constantNames[n.Kind])
	case *MatchSequence:
		d.full("MatchSequence", n.Span, n.Patterns)
	case *MatchMapping:
		d.full("MatchMapping", n.Span, n.Keys, n.Patterns, n.Rest)
	case *MatchClass:
		d.full("MatchClass", n.Span, n.Cls, n.Patterns, n.KwNames, n.KwPatterns)
	case *MatchStar:
		d.full("MatchStar", n.Span, n.Name)
	case *MatchAs:
		d.full("MatchAs", n.Span, n.Pattern, n.Name)
	case *MatchOr:
		d.full("MatchOr", n.Span, n.Patterns)
	default:
		panic(fmt.Sprintf("dump: %T", n))
	}
}

func conversionCode(c byte) int {
	if c == 0 {
		return -1
	}
	return int(c)
}

func (d *dumper) joinedStr(n *JoinedStr) {
	d.open("JoinedStr", n.Span)
	saved := d.noPositions
	d.noPositions = saved || d.oldFStrings
	for _, v := range n.Values {
		d.node(v)
	}
	d.noPositions = saved
	d.close()
}

var constantNames = [...]string{None: "~", True: "True", False: "False"}

func (d *dumper) constant(n *Constant) {
	d.open("Constant", n.Span)
	if n.U {
		d.buf = append(d.buf, 'u')
	}
	digits := strings.ReplaceAll(n.Value, "_", "")
	switch n.Kind {
	case None:
		d.buf = append(d.buf, "None"...)
	case True:
		d.buf = append(d.buf, "True"...)
	case False:
		d.buf = append(d.buf, "False"...)
	case Ellipsis:
		d.buf = append(d.buf, "Ellipsis"...)
	case Int:
		if v, err := strconv.ParseInt(digits, 0, 64); err == nil {
			d.buf = strconv.AppendInt(d.buf, v, 16)
		} else if v, ok := new(big.Int).SetString(digits, 0); ok {
			d.buf = v.Append(d.buf, 16)
		} else {
			panic("dump: integer " + n.Value)
		}
	case Float:
		d.buf = append(d.buf, floatBits(digits)...)
	case Imag:
		d.buf = append(append(d.buf, floatBits(digits[:len(digits)-1])...), 'j')
	case Str:
		d.buf = append(append(append(d.buf, '"'), n.Value...), '"')
	case Bytes:
		d.buf = append(d.buf, `b"`...)
		for i := range len(n.Value) {
			d.buf = utf8.AppendRune(d.buf, rune(n.Value[i]))
		}
		d.buf = append(d.buf, '"')
	}
	d.close()
}

func floatBits(s string) string {
	v, _ := strconv.ParseFloat(s, 64) // out of range gives infinity, as in Python
	bits := math.Float64bits(v)
	var b [8]byte
	for i := range b {
		b[i] = byte(bits >> (56 - 8*i))
	}
	return hex.EncodeToString(b[:])
}
