package pysyntax

// Pos is a byte offset into [Module.Text]. [Module.Position] turns it into a
// line and a column.
type Pos uint32

// Span is the half-open range of source that a node covers. It follows
// CPython's rules: parentheses belong to a tuple or a generator expression and
// to no other node, and decorators do not belong to the definition they adorn.
type Span struct {
	Start, End Pos
}

// Range returns the span itself; every node embeds a Span and so satisfies
// [Node].
func (s Span) Range() Span { return s }

// Node is any part of the tree: an [Expr], a [Stmt], a [Pattern], a
// [TypeParam], or one of the small nodes that belong to these.
type Node interface {
	Range() Span
}

// Expr is an expression node.
type Expr interface {
	Node
	exprNode()
}

// Stmt is a statement node.
type Stmt interface {
	Node
	stmtNode()
}

// Pattern is a node of a case clause.
type Pattern interface {
	Node
	patternNode()
}

// TypeParam is one name between the brackets of "def f[T]" (PEP 695).
type TypeParam interface {
	Node
	typeParamNode()
}

// Context says whether a name, attribute, subscript, starred expression, list
// or tuple is read, assigned or deleted.
type Context uint8

// The three contexts.
const (
	Load Context = iota
	Store
	Del
)

// String returns the name of the context in the ast module.
func (c Context) String() string {
	return [...]string{"Load", "Store", "Del"}[c]
}

// Operator is an arithmetic or bitwise operator of a [BinOp] or [AugAssign].
type Operator uint8

// The operators, in the order of the ast module's documentation.
const (
	Add Operator = iota
	Sub
	Mult
	MatMult
	Div
	Mod
	Pow
	LShift
	RShift
	BitOr
	BitXor
	BitAnd
	FloorDiv
)

// String returns the name of the operator in the ast module.
func (o Operator) String() string {
	return [...]string{
		"Add", "Sub", "Mult", "MatMult", "Div", "Mod", "Pow",
		"LShift", "RShift", "BitOr", "BitXor", "BitAnd", "FloorDiv",
	}[o]
}

// UnaryOperator is the operator of a [UnaryOp].
type UnaryOperator uint8

// The unary operators.
const (
	Invert UnaryOperator = iota
	Not
	UAdd
	USub
)

// String returns the name of the operator in the ast module.
func (o UnaryOperator) String() string {
	return [...]string{"Invert", "Not", "UAdd", "USub"}[o]
}

// BoolOperator is the operator of a [BoolOp].
type BoolOperator uint8

// The two boolean operators.
const (
	And BoolOperator = iota
	Or
)

// String returns the name of the operator in the ast module.
func (o BoolOperator) String() string {
	return [...]string{"And", "Or"}[o]
}

// CmpOperator is one operator of a [Compare].
type CmpOperator uint8

// The comparison operators.
const (
	Eq CmpOperator = iota
	NotEq
	Lt
	LtE
	Gt
	GtE
	Is
	IsNot
	In
	NotIn
)

// String returns the name of the operator in the ast module.
func (o CmpOperator) String() string {
	return [...]string{
		"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot", "In", "NotIn",
	}[o]
}

// ConstKind says what a [Constant] is.
type ConstKind uint8

// The kinds of constants.
const (
	None ConstKind = iota
	True
	False
	Ellipsis
	Int   // Value is the literal, as spelled: "0x_ff"
	Float // Value is the literal, as spelled: "1_0.5e3"
	Imag  // Value is the literal, as spelled, with its j
	Str   // Value is the text; lone surrogates are encoded as three bytes (WTF-8)
	Bytes // Value holds the bytes
)
