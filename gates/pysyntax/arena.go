package pysyntax

// slab hands out nodes of one type from chunks, so that a thousand nodes cost
// a few allocations. A chunk lives as long as any node in it, which suits a
// tree that is dropped as a whole.
type slab[T any] struct {
	free []T
	size int // of the last chunk
}

// Chunks start small, for small files, and double up to a limit.
const (
	minChunk = 8
	maxChunk = 256
)

func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.size = min(max(minChunk, 2*s.size), maxChunk)
		s.free = make([]T, s.size)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	return p
}

// stack collects the elements of lists under construction. Lists nest, so each
// remembers where it began and takes its elements off the top when complete.
type stack[T any] struct {
	items []T
	free  []T // chunk from which finished lists are cut
	size  int // of the last chunk
}

func (s *stack[T]) mark() int { return len(s.items) }

func (s *stack[T]) push(item T) { s.items = append(s.items, item) }

// take removes the elements above the mark and returns them as a list of
// their own, nil when there are none.
func (s *stack[T]) take(mark int) []T {
	n := len(s.items) - mark
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		s.size = min(max(minChunk, 2*s.size), maxChunk)
		s.free = make([]T, max(n, s.size))
	}
	list := s.free[:n:n]
	s.free = s.free[n:]
	copy(list, s.items[mark:])
	clear(s.items[mark:])
	s.items = s.items[:mark]
	return list
}

// arena holds the slabs of the most frequent nodes; the others are allocated
// one by one.
type arena struct {
	names      slab[Name]
	attributes slab[Attribute]
	calls      slab[Call]
	constants  slab[Constant]
	subscripts slab[Subscript]
	tuples     slab[Tuple]
	binOps     slab[BinOp]
	compares   slab[Compare]
	keywords   slab[Keyword]
	exprStmts  slab[ExprStmt]
	assigns    slab[Assign]
	args       slab[Arg]
	returns    slab[Return]
	ifs        slab[If]
	functions  slab[FunctionDef]
	arguments  slab[Arguments]

	exprs     stack[Expr]
	stmts     stack[Stmt]
	kwStack   stack[*Keyword]
	argStack  stack[*Arg]
	aliases   stack[*Alias]
	patterns  stack[Pattern]
	strs      stack[string]
	operators stack[CmpOperator]
}
