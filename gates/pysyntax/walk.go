package pysyntax

// Inspect visits n and everything below it in source order. It calls f for
// each node; if f returns true it visits the children and then calls f(nil).
func Inspect(n Node, f func(Node) bool) {
	if !f(n) {
		return
	}
	children(n, func(child Node) { Inspect(child, f) })
	f(nil)
}

// children calls f for each direct child of n.
func children(n Node, f func(Node)) {
	switch n := n.(type) {
	case *Module:
		all(n.Body, f)
	case *WithItem:
		one(n.Context, f)
		one(n.Target, f)
	case *MatchCase:
		one(n.Pattern, f)
		one(n.Guard, f)
		all(n.Body, f)
	case *ExceptHandler:
		one(n.Type, f)
		all(n.Body, f)
	case *Comprehension:
		one(n.Target, f)
		one(n.Iter, f)
		all(n.Ifs, f)
	case *Keyword:
		one(n.Value, f)
	case *Arguments:
		argumentsChildren(n, f)
	case *Arg:
		one(n.Annotation, f)
	case *TypeVar:
		one(n.Bound, f)
		one(n.Default, f)
	case *ParamSpec:
		one(n.Default, f)
	case *TypeVarTuple:
		one(n.Default, f)
	case Stmt:
		stmtChildren(n, f)
	case Expr:
		exprChildren(n, f)
	case Pattern:
		patternChildren(n, f)
	}
}

// one visits a child that may be missing.
func one[T Node](n T, f func(Node)) {
	if Node(n) != nil {
		f(n)
	}
}

// all visits the elements of a list; some lists have gaps.
func all[T Node](list []T, f func(Node)) {
	for _, n := range list {
		one(n, f)
	}
}

func argumentsChildren(n *Arguments, f func(Node)) {
	all(n.PosOnly, f)
	all(n.Args, f)
	if n.Vararg != nil {
		f(n.Vararg)
	}
	all(n.KwOnly, f)
	all(n.KwDefaults, f)
	if n.Kwarg != nil {
		f(n.Kwarg)
	}
	all(n.Defaults, f)
}

func stmtChildren(n Stmt, f func(Node)) {
	switch n := n.(type) {
	case *FunctionDef:
		all(n.Decorators, f)
		all(n.TypeParams, f)
		f(n.Args)
		one(n.Returns, f)
		all(n.Body, f)
	case *ClassDef:
		all(n.Decorators, f)
		all(n.TypeParams, f)
		all(n.Bases, f)
		all(n.Keywords, f)
		all(n.Body, f)
	case *Return:
		one(n.Value, f)
	case *Delete:
		all(n.Targets, f)
	case *Assign:
		all(n.Targets, f)
		one(n.Value, f)
	case *TypeAlias:
		f(n.Name)
		all(n.TypeParams, f)
		one(n.Value, f)
	case *AugAssign:
		one(n.Target, f)
		one(n.Value, f)
	case *AnnAssign:
		one(n.Target, f)
		one(n.Annotation, f)
		one(n.Value, f)
	case *Match:
		one(n.Subject, f)
		all(n.Cases, f)
	case *Raise:
		one(n.Exc, f)
		one(n.Cause, f)
	case *Assert:
		one(n.Test, f)
		one(n.Msg, f)
	case *Import:
		all(n.Names, f)
	case *ImportFrom:
		all(n.Names, f)
	case *ExprStmt:
		one(n.Value, f)
	default:
		blockChildren(n, f)
	}
}

// blockChildren handles the statements with several blocks.
func blockChildren(n Stmt, f func(Node)) {
	switch n := n.(type) {
	case *For:
		one(n.Target, f)
		one(n.Iter, f)
		all(n.Body, f)
		all(n.Orelse, f)
	case *While:
		one(n.Test, f)
		all(n.Body, f)
		all(n.Orelse, f)
	case *If:
		one(n.Test, f)
		all(n.Body, f)
		all(n.Orelse, f)
	case *With:
		all(n.Items, f)
		all(n.Body, f)
	case *Try:
		all(n.Body, f)
		all(n.Handlers, f)
		all(n.Orelse, f)
		all(n.Finalbody, f)
	}
}

func exprChildren(n Expr, f func(Node)) {
	switch n := n.(type) {
	case *Attribute:
		one(n.Value, f)
	case *Call:
		one(n.Func, f)
		all(n.Args, f)
		all(n.Keywords, f)
	case *Subscript:
		one(n.Value, f)
		one(n.Slice, f)
	case *Tuple:
		all(n.Elts, f)
	case *List:
		all(n.Elts, f)
	case *Set:
		all(n.Elts, f)
	case *Dict:
		for i, key := range n.Keys {
			one(key, f)
			one(n.Values[i], f)
		}
	default:
		operatorChildren(n, f)
	}
}

// operatorChildren handles operators and what is written like one.
func operatorChildren(n Expr, f func(Node)) {
	switch n := n.(type) {
	case *BoolOp:
		all(n.Values, f)
	case *NamedExpr:
		f(n.Target)
		one(n.Value, f)
	case *BinOp:
		one(n.Left, f)
		one(n.Right, f)
	case *UnaryOp:
		one(n.Operand, f)
	case *Compare:
		one(n.Left, f)
		all(n.Comparators, f)
	case *Lambda:
		f(n.Args)
		one(n.Body, f)
	case *IfExp:
		one(n.Body, f)
		one(n.Test, f)
		one(n.Orelse, f)
	case *Slice:
		one(n.Lower, f)
		one(n.Upper, f)
		one(n.Step, f)
	case *Starred:
		one(n.Value, f)
	case *Await:
		one(n.Value, f)
	case *Yield:
		one(n.Value, f)
	case *YieldFrom:
		one(n.Value, f)
	default:
		compositeChildren(n, f)
	}
}

// compositeChildren handles comprehensions and formatted strings.
func compositeChildren(n Expr, f func(Node)) {
	switch n := n.(type) {
	case *ListComp:
		one(n.Elt, f)
		all(n.Generators, f)
	case *SetComp:
		one(n.Elt, f)
		all(n.Generators, f)
	case *GeneratorExp:
		one(n.Elt, f)
		all(n.Generators, f)
	case *DictComp:
		one(n.Key, f)
		one(n.Value, f)
		all(n.Generators, f)
	case *JoinedStr:
		all(n.Values, f)
	case *TemplateStr:
		all(n.Values, f)
	case *FormattedValue:
		one(n.Value, f)
		formatSpecChild(n.FormatSpec, f)
	case *Interpolation:
		one(n.Value, f)
		formatSpecChild(n.FormatSpec, f)
	}
}

func formatSpecChild(spec *JoinedStr, f func(Node)) {
	if spec != nil {
		f(spec)
	}
}

func patternChildren(n Pattern, f func(Node)) {
	switch n := n.(type) {
	case *MatchValue:
		one(n.Value, f)
	case *MatchSequence:
		all(n.Patterns, f)
	case *MatchMapping:
		for i, key := range n.Keys {
			one(key, f)
			one(n.Patterns[i], f)
		}
	case *MatchClass:
		one(n.Cls, f)
		all(n.Patterns, f)
		all(n.KwPatterns, f)
	case *MatchAs:
		one(n.Pattern, f)
	case *MatchOr:
		all(n.Patterns, f)
	}
}
