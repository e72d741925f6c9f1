package pysyntax

// FunctionDef is a "def" or, with Async, an "async def". Returns may be nil.
type FunctionDef struct {
	Span
	Name       string
	TypeParams []TypeParam
	Args       *Arguments
	Body       []Stmt
	Decorators []Expr
	Returns    Expr
	Async      bool
}

// ClassDef is a class definition.
type ClassDef struct {
	Span
	Name       string
	TypeParams []TypeParam
	Bases      []Expr
	Keywords   []*Keyword
	Body       []Stmt
	Decorators []Expr
}

// Return is "return value"; Value may be nil.
type Return struct {
	Span
	Value Expr
}

// Delete is "del a, b".
type Delete struct {
	Span
	Targets []Expr
}

// Assign is "a = b = value".
type Assign struct {
	Span
	Targets []Expr
	Value   Expr
}

// TypeAlias is "type Name[T] = value" (PEP 695).
type TypeAlias struct {
	Span
	Name       *Name
	TypeParams []TypeParam
	Value      Expr
}

// AugAssign is "target op= value".
type AugAssign struct {
	Span
	Target Expr
	Op     Operator
	Value  Expr
}

// AnnAssign is "target: annotation = value"; Value may be nil. Simple is set
// for a bare name without parentheses.
type AnnAssign struct {
	Span
	Target, Annotation, Value Expr
	Simple                    bool
}

// For is a "for" or, with Async, an "async for" loop.
type For struct {
	Span
	Target, Iter Expr
	Body, Orelse []Stmt
	Async        bool
}

// While is a "while" loop.
type While struct {
	Span
	Test         Expr
	Body, Orelse []Stmt
}

// If is an "if" statement; an "elif" is an If alone in Orelse.
type If struct {
	Span
	Test         Expr
	Body, Orelse []Stmt
}

// With is a "with" or, with Async, an "async with" statement.
type With struct {
	Span
	Items []*WithItem
	Body  []Stmt
	Async bool
}

// WithItem is "context as target"; Target may be nil.
type WithItem struct {
	Span
	Context, Target Expr
}

// Match is a "match" statement (PEP 634).
type Match struct {
	Span
	Subject Expr
	Cases   []*MatchCase
}

// MatchCase is "case pattern if guard:"; Guard may be nil.
type MatchCase struct {
	Span
	Pattern Pattern
	Guard   Expr
	Body    []Stmt
}

// Raise is "raise exc from cause"; both may be nil.
type Raise struct {
	Span
	Exc, Cause Expr
}

// Try is a "try" statement; Star is set when its handlers are "except*".
type Try struct {
	Span
	Body      []Stmt
	Handlers  []*ExceptHandler
	Orelse    []Stmt
	Finalbody []Stmt
	Star      bool
}

// ExceptHandler is "except type as name:"; Type may be nil and Name empty.
type ExceptHandler struct {
	Span
	Type Expr
	Name string
	Body []Stmt
}

// Assert is "assert test, msg"; Msg may be nil.
type Assert struct {
	Span
	Test, Msg Expr
}

// Import is "import a, b as c".
type Import struct {
	Span
	Names []*Alias
}

// ImportFrom is "from module import names". Level counts the leading dots;
// Module is empty for "from . import x".
type ImportFrom struct {
	Span
	Module string
	Names  []*Alias
	Level  int
}

// Alias is "name as asname" in an import; AsName may be empty and Name may be
// dotted, or "*".
type Alias struct {
	Span
	Name, AsName string
}

// Global is "global a, b".
type Global struct {
	Span
	Names []string
}

// Nonlocal is "nonlocal a, b".
type Nonlocal struct {
	Span
	Names []string
}

// ExprStmt is an expression that stands as a statement.
type ExprStmt struct {
	Span
	Value Expr
}

// Pass is "pass".
type Pass struct{ Span }

// Break is "break".
type Break struct{ Span }

// Continue is "continue".
type Continue struct{ Span }

// TypeVar is "T: bound = default"; both may be nil.
type TypeVar struct {
	Span
	Name           string
	Bound, Default Expr
}

// ParamSpec is "**P = default"; Default may be nil.
type ParamSpec struct {
	Span
	Name    string
	Default Expr
}

// TypeVarTuple is "*Ts = default"; Default may be nil.
type TypeVarTuple struct {
	Span
	Name    string
	Default Expr
}

// MatchValue is a pattern that compares with a literal or a dotted name.
type MatchValue struct {
	Span
	Value Expr
}

// MatchSingleton is the pattern None, True or False.
type MatchSingleton struct {
	Span
	Kind ConstKind
}

// MatchSequence is "[a, *b]" or "a, b".
type MatchSequence struct {
	Span
	Patterns []Pattern
}

// MatchMapping is "{key: pattern, **rest}"; Rest may be empty.
type MatchMapping struct {
	Span
	Keys     []Expr
	Patterns []Pattern
	Rest     string
}

// MatchClass is "cls(pattern, name=pattern)"; KwNames and KwPatterns have the
// same length.
type MatchClass struct {
	Span
	Cls        Expr
	Patterns   []Pattern
	KwNames    []string
	KwPatterns []Pattern
}

// MatchStar is "*name"; Name is empty for "*_".
type MatchStar struct {
	Span
	Name string
}

// MatchAs is "pattern as name", a capture (nil Pattern), or "_" (both empty).
type MatchAs struct {
	Span
	Pattern Pattern
	Name    string
}

// MatchOr is "a | b".
type MatchOr struct {
	Span
	Patterns []Pattern
}

func (*FunctionDef) stmtNode() {}
func (*ClassDef) stmtNode()    {}
func (*Return) stmtNode()      {}
func (*Delete) stmtNode()      {}
func (*Assign) stmtNode()      {}
func (*TypeAlias) stmtNode()   {}
func (*AugAssign) stmtNode()   {}
func (*AnnAssign) stmtNode()   {}
func (*For) stmtNode()         {}
func (*While) stmtNode()       {}
func (*If) stmtNode()          {}
func (*With) stmtNode()        {}
func (*Match) stmtNode()       {}
func (*Raise) stmtNode()       {}
func (*Try) stmtNode()         {}
func (*Assert) stmtNode()      {}
func (*Import) stmtNode()      {}
func (*ImportFrom) stmtNode()  {}
func (*Global) stmtNode()      {}
func (*Nonlocal) stmtNode()    {}
func (*ExprStmt) stmtNode()    {}
func (*Pass) stmtNode()        {}
func (*Break) stmtNode()       {}
func (*Continue) stmtNode()    {}

func (*TypeVar) typeParamNode()      {}
func (*ParamSpec) typeParamNode()    {}
func (*TypeVarTuple) typeParamNode() {}

func (*MatchValue) patternNode()     {}
func (*MatchSingleton) patternNode() {}
func (*MatchSequence) patternNode()  {}
func (*MatchMapping) patternNode()   {}
func (*MatchClass) patternNode()     {}
func (*MatchStar) patternNode()      {}
func (*MatchAs) patternNode()        {}
func (*MatchOr) patternNode()        {}
