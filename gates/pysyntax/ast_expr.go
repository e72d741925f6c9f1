package pysyntax

// BoolOp is "a and b and c": one node for a run of the same operator.
type BoolOp struct {
	Span
	Op     BoolOperator
	Values []Expr
}

// NamedExpr is "target := value".
type NamedExpr struct {
	Span
	Target *Name
	Value  Expr
}

// BinOp is "left op right".
type BinOp struct {
	Span
	Left  Expr
	Op    Operator
	Right Expr
}

// UnaryOp is "op operand".
type UnaryOp struct {
	Span
	Op      UnaryOperator
	Operand Expr
}

// Lambda is "lambda args: body".
type Lambda struct {
	Span
	Args *Arguments
	Body Expr
}

// IfExp is "body if test else orelse".
type IfExp struct {
	Span
	Test, Body, Orelse Expr
}

// Dict is "{key: value, **value}"; the key of an unpacked mapping is nil.
type Dict struct {
	Span
	Keys, Values []Expr
}

// Set is "{a, b}".
type Set struct {
	Span
	Elts []Expr
}

// ListComp is "[elt for ...]".
type ListComp struct {
	Span
	Elt        Expr
	Generators []*Comprehension
}

// SetComp is "{elt for ...}".
type SetComp struct {
	Span
	Elt        Expr
	Generators []*Comprehension
}

// DictComp is "{key: value for ...}".
type DictComp struct {
	Span
	Key, Value Expr
	Generators []*Comprehension
}

// GeneratorExp is "(elt for ...)".
type GeneratorExp struct {
	Span
	Elt        Expr
	Generators []*Comprehension
}

// Await is "await value".
type Await struct {
	Span
	Value Expr
}

// Yield is "yield value"; Value may be nil.
type Yield struct {
	Span
	Value Expr
}

// YieldFrom is "yield from value".
type YieldFrom struct {
	Span
	Value Expr
}

// Compare is "left op comparator op comparator ...": Ops and Comparators have
// the same length.
type Compare struct {
	Span
	Left        Expr
	Ops         []CmpOperator
	Comparators []Expr
}

// Call is "func(args, keywords)". A starred argument is a [Starred] in Args,
// wherever it stands.
type Call struct {
	Span
	Func     Expr
	Args     []Expr
	Keywords []*Keyword
}

// FormattedValue is a replacement field of an f-string. Conversion is 's', 'r',
// 'a', or 0 for none; FormatSpec may be nil.
type FormattedValue struct {
	Span
	Value      Expr
	Conversion byte
	FormatSpec *JoinedStr
}

// Interpolation is a replacement field of a t-string (PEP 750). Str is the
// source of the expression.
type Interpolation struct {
	Span
	Value      Expr
	Str        string
	Conversion byte
	FormatSpec *JoinedStr
}

// JoinedStr is an f-string, with the plain strings it is concatenated with, or
// a format specification. Values holds string [Constant], [FormattedValue] and,
// inside a t-string's format specification, the same again; two constants are
// never neighbours and none is empty.
type JoinedStr struct {
	Span
	Values []Expr
}

// TemplateStr is a t-string: [Constant] and [Interpolation] values.
type TemplateStr struct {
	Span
	Values []Expr
}

// Constant is a literal. See [ConstKind] for what Value holds. U is set when
// the (first) string literal has the prefix u.
type Constant struct {
	Span
	Kind  ConstKind
	U     bool
	Value string
}

// Attribute is "value.attr".
type Attribute struct {
	Span
	Value Expr
	Attr  string
	Ctx   Context
}

// Subscript is "value[slice]".
type Subscript struct {
	Span
	Value, Slice Expr
	Ctx          Context
}

// Starred is "*value".
type Starred struct {
	Span
	Value Expr
	Ctx   Context
}

// Name is an identifier, normalized to NFKC as Python does.
type Name struct {
	Span
	ID  string
	Ctx Context
}

// List is "[a, b]".
type List struct {
	Span
	Elts []Expr
	Ctx  Context
}

// Tuple is "a, b" or "(a, b)".
type Tuple struct {
	Span
	Elts []Expr
	Ctx  Context
}

// Slice is "lower:upper:step" inside a subscript; each may be nil.
type Slice struct {
	Span
	Lower, Upper, Step Expr
}

// Comprehension is one "for target in iter if cond" of a comprehension.
type Comprehension struct {
	Span
	Target, Iter Expr
	Ifs          []Expr
	Async        bool
}

// Keyword is "name=value" in a call or a class definition, or "**value" with
// an empty Name.
type Keyword struct {
	Span
	Name  string
	Value Expr
}

// Arguments are the parameters of a function or lambda. Defaults belong to the
// last of PosOnly followed by Args. KwDefaults is as long as KwOnly; parameters
// without a default have nil there. Vararg and Kwarg may be nil.
type Arguments struct {
	Span
	PosOnly, Args []*Arg
	Vararg        *Arg
	KwOnly        []*Arg
	KwDefaults    []Expr
	Kwarg         *Arg
	Defaults      []Expr
}

// Arg is one parameter; Annotation may be nil.
type Arg struct {
	Span
	Name       string
	Annotation Expr
}

func (*BoolOp) exprNode()         {}
func (*NamedExpr) exprNode()      {}
func (*BinOp) exprNode()          {}
func (*UnaryOp) exprNode()        {}
func (*Lambda) exprNode()         {}
func (*IfExp) exprNode()          {}
func (*Dict) exprNode()           {}
func (*Set) exprNode()            {}
func (*ListComp) exprNode()       {}
func (*SetComp) exprNode()        {}
func (*DictComp) exprNode()       {}
func (*GeneratorExp) exprNode()   {}
func (*Await) exprNode()          {}
func (*Yield) exprNode()          {}
func (*YieldFrom) exprNode()      {}
func (*Compare) exprNode()        {}
func (*Call) exprNode()           {}
func (*FormattedValue) exprNode() {}
func (*Interpolation) exprNode()  {}
func (*JoinedStr) exprNode()      {}
func (*TemplateStr) exprNode()    {}
func (*Constant) exprNode()       {}
func (*Attribute) exprNode()      {}
func (*Subscript) exprNode()      {}
func (*Starred) exprNode()        {}
func (*Name) exprNode()           {}
func (*List) exprNode()           {}
func (*Tuple) exprNode()          {}
func (*Slice) exprNode()          {}
