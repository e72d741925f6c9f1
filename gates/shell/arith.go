package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// number reads a plain decimal integer.
func number(s string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil && n < 1<<40 && n > -(1<<40)
}

// arith evaluates an arithmetic expression and applies its assignments. Values
// that are not certain make the result unknown.
func (in *interp) arith(st *state, x syntax.ArithmExpr) (int, bool) {
	if in.depth++; in.depth > maxDepth {
		in.depth--
		return 0, false
	}
	defer func() { in.depth-- }()
	switch x := x.(type) {
	case *syntax.ParenArithm:
		return in.arith(st, x.X)
	case *syntax.Word:
		return in.arithWord(st, x)
	case *syntax.UnaryArithm:
		return in.arithUnary(st, x)
	case *syntax.BinaryArithm:
		return in.arithBinary(st, x)
	}
	return 0, false
}

func (in *interp) arithWord(st *state, w *syntax.Word) (int, bool) {
	v := in.operand(st, w)
	if text, ok := v.certain(); ok {
		if text == "" {
			return 0, true
		}
		return number(text)
	}
	return 0, false
}

// operand is the value of a word in arithmetic, where a bare name is a variable.
func (in *interp) operand(st *state, w *syntax.Word) value {
	if name := w.Lit(); syntax.ValidName(name) {
		if v, ok := in.named(st, name); ok {
			return v
		}
		return unknown("$" + name)
	}
	return in.word(st, w)
}

func (in *interp) arithUnary(st *state, x *syntax.UnaryArithm) (int, bool) {
	n, ok := in.arith(st, x.X)
	switch x.Op {
	case syntax.Inc, syntax.Dec:
		step := 1
		if x.Op == syntax.Dec {
			step = -1
		}
		in.assignArith(st, x.X, n+step, ok)
		if !x.Post {
			n += step
		}
	case syntax.Minus:
		n = -n
	case syntax.Not:
		n = truth(n == 0)
	case syntax.BitNegation:
		n = ^n
	}
	return n, ok
}

func (in *interp) assignArith(st *state, target syntax.ArithmExpr, n int, known bool) {
	w, ok := target.(*syntax.Word)
	if !ok || !syntax.ValidName(w.Lit()) {
		return
	}
	if known {
		st.set(w.Lit(), str(itoa(n)))
	} else {
		st.set(w.Lit(), unknown("$"+w.Lit()))
	}
}

func (in *interp) arithBinary(st *state, x *syntax.BinaryArithm) (int, bool) {
	if x.Op == syntax.TernQuest {
		return in.ternary(st, x)
	}
	b, okB := in.arith(st, x.Y)
	if x.Op == syntax.Assgn {
		in.assignArith(st, x.X, b, okB)
		return b, okB
	}
	a, okA := in.arith(st, x.X)
	if op, ok := assigning(x.Op); ok {
		n, known := calculate(op, a, b)
		known = known && okA && okB
		in.assignArith(st, x.X, n, known)
		return n, known
	}
	if x.Op == syntax.Comma {
		return b, okB
	}
	n, ok := calculate(x.Op, a, b)
	return n, ok && okA && okB
}

func (in *interp) ternary(st *state, x *syntax.BinaryArithm) (int, bool) {
	c, ok := in.arith(st, x.X)
	arms, isArms := x.Y.(*syntax.BinaryArithm)
	if !ok || !isArms {
		return 0, false
	}
	if c != 0 {
		return in.arith(st, arms.X)
	}
	return in.arith(st, arms.Y)
}

func assigning(op syntax.BinAritOperator) (syntax.BinAritOperator, bool) {
	switch op {
	case syntax.AddAssgn:
		return syntax.Add, true
	case syntax.SubAssgn:
		return syntax.Sub, true
	case syntax.MulAssgn:
		return syntax.Mul, true
	case syntax.QuoAssgn:
		return syntax.Quo, true
	case syntax.RemAssgn:
		return syntax.Rem, true
	case syntax.AndAssgn:
		return syntax.And, true
	case syntax.OrAssgn:
		return syntax.Or, true
	case syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return op, true // calculate refuses these
	}
	return op, false
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func calculate(op syntax.BinAritOperator, a, b int) (int, bool) {
	switch op {
	case syntax.Add:
		return a + b, true
	case syntax.Sub:
		return a - b, true
	case syntax.Mul:
		return a * b, true
	case syntax.Quo, syntax.Rem:
		if b == 0 {
			return 0, false
		}
		if op == syntax.Quo {
			return a / b, true
		}
		return a % b, true
	case syntax.And:
		return a & b, true
	case syntax.Or:
		return a | b, true
	case syntax.AndArit:
		return truth(a != 0 && b != 0), true
	case syntax.OrArit:
		return truth(a != 0 || b != 0), true
	case syntax.Eql, syntax.Neq, syntax.Lss, syntax.Gtr, syntax.Leq, syntax.Geq:
		return truth(compare(op, a, b)), true
	}
	return 0, false
}

func compare(op syntax.BinAritOperator, a, b int) bool {
	switch op {
	case syntax.Eql:
		return a == b
	case syntax.Neq:
		return a != b
	case syntax.Lss:
		return a < b
	case syntax.Gtr:
		return a > b
	case syntax.Leq:
		return a <= b
	}
	return a >= b
}

// arithStatus is the exit status of (( x )).
func (in *interp) arithStatus(st *state, x syntax.ArithmExpr) value {
	if b, ok := x.(*syntax.BinaryArithm); ok && (b.Op == syntax.Eql || b.Op == syntax.Neq) {
		left, okL := b.X.(*syntax.Word)
		right, okR := b.Y.(*syntax.Word)
		if okL && okR && right.Lit() == "0" {
			zero := in.isZero(in.operand(st, left))
			if b.Op == syntax.Neq {
				return zero.not(in.fresh())
			}
			return zero
		}
	}
	n, ok := in.arith(st, x)
	if !ok {
		return open(in.fresh())
	}
	return verdictOf(n != 0).status(0)
}

// isZero is the status of comparing a value with the number 0. That is decided
// for a failed status, and the same question as the status itself for an open one.
func (in *interp) isZero(v value) value {
	switch text, ok := v.certain(); {
	case v.sym != 0:
		return v
	case v.failed:
		return failure()
	case ok:
		if n, isNumber := number(text); isNumber {
			return verdictOf(n == 0).status(0)
		}
	}
	return open(in.fresh())
}
