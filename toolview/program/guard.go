package program

import (
	"reflect"

	"go.starlark.net/syntax"
)

// Names of the guards that take the place of operators. No program can write them.
const (
	guardDot   = "."
	guardCopy  = "copy of"
	guardPlus  = "+"
	guardTimes = "*"
	guardMod   = "%"
	guardOr    = "|"
	guardShift = "<<"
)

var operators = map[syntax.Token]string{
	syntax.PLUS: guardPlus, syntax.STAR: guardTimes, syntax.PERCENT: guardMod, syntax.PIPE: guardOr, syntax.LTLT: guardShift,
}

// augmented are the assignments that could multiply what is already there.
var augmented = map[syntax.Token]syntax.Token{
	syntax.STAR_EQ: syntax.STAR, syntax.PERCENT_EQ: syntax.PERCENT, syntax.LTLT_EQ: syntax.LTLT,
}

// guard replaces every operator whose result can be larger than its operands by a call of a function that charges for
// it first. The interpreter bounds steps and not memory, and a process that is out of memory cannot be saved.
func guard(file string, f *syntax.File) error {
	g := &guarding{file: file}
	g.stmts(f.Stmts)
	return g.err
}

type guarding struct {
	file string
	err  error
}

func (g *guarding) refuse(at syntax.Position, text string) {
	if g.err == nil {
		g.err = &Error{File: g.file, Line: int(at.Line), Column: int(at.Col), Message: text}
	}
}

func (g *guarding) stmts(list []syntax.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			g.assign(s)
		case *syntax.LoadStmt:
			g.refuse(s.Load, "load: a program has no files to load")
		case *syntax.DefStmt:
			g.params(s.Params)
			g.stmts(s.Body)
		case *syntax.ForStmt:
			g.children(s.Vars)
			s.X = g.expr(s.X)
			g.stmts(s.Body)
		default:
			g.children(s)
		}
	}
}

func (g *guarding) assign(s *syntax.AssignStmt) {
	g.children(s.LHS)
	s.RHS = g.expr(s.RHS)
	switch op, multiplies := augmented[s.Op]; {
	case s.Op == syntax.PLUS_EQ || s.Op == syntax.PIPE_EQ:
		s.RHS = called(guardCopy, s.OpPos, s.RHS)
	case !multiplies:
	default:
		id, ok := s.LHS.(*syntax.Ident)
		if !ok {
			g.refuse(s.OpPos, "write x = x "+op.String()+" y instead of x "+s.Op.String()+" y")
			return
		}
		s.RHS = called(operators[op], s.OpPos, &syntax.Ident{NamePos: id.NamePos, Name: id.Name}, s.RHS)
		s.Op = syntax.EQ
	}
}

// params guards the defaults.
func (g *guarding) params(list []syntax.Expr) {
	for _, p := range list {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			b.Y = g.expr(b.Y)
		}
	}
}

// expr guards an expression, its inner ones first.
func (g *guarding) expr(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *syntax.LambdaExpr:
		g.params(e.Params)
		e.Body = g.expr(e.Body)
		return e
	case *syntax.CallExpr:
		e.Fn = g.expr(e.Fn)
		g.args(e.Args)
		return e
	case *syntax.Comprehension:
		g.comprehension(e)
		return e
	}
	g.children(e)
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		if name, ok := operators[e.Op]; ok {
			return called(name, e.OpPos, e.X, e.Y)
		}
	case *syntax.SliceExpr:
		return called(guardCopy, e.Lbrack, e)
	case *syntax.DotExpr:
		name := &syntax.Literal{Token: syntax.STRING, TokenPos: e.NamePos, Raw: e.Name.Name, Value: e.Name.Name}
		return called(guardDot, e.Dot, e.X, name)
	}
	return e
}

func (g *guarding) args(list []syntax.Expr) {
	for i, a := range list {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ { // a named argument
				a.Y = g.expr(a.Y)
				continue
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				a.X = called(guardCopy, a.OpPos, g.expr(a.X))
				continue
			}
		}
		list[i] = g.expr(a)
	}
}

func (g *guarding) comprehension(e *syntax.Comprehension) {
	if entry, ok := e.Body.(*syntax.DictEntry); ok {
		g.children(entry)
	} else {
		e.Body = g.expr(e.Body)
	}
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			g.children(c.Vars)
			c.X = g.expr(c.X)
		case *syntax.IfClause:
			c.Cond = g.expr(c.Cond)
		}
	}
}

// children guards the expressions and statements that a node holds. The kinds of nodes whose parts are no expressions
// to evaluate are dealt with by name before it comes to this.
func (g *guarding) children(n syntax.Node) {
	v := reflect.ValueOf(n)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return
	}
	for v, i := v.Elem(), 0; i < v.NumField(); i++ {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch field := v.Field(i).Addr().Interface().(type) {
		case *syntax.Expr:
			*field = g.expr(*field)
		case *[]syntax.Expr:
			for k := range *field {
				(*field)[k] = g.expr((*field)[k])
			}
		case *[]syntax.Stmt:
			g.stmts(*field)
		}
	}
}

// called is a call of a guard, standing where the operator stood.
func called(name string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: name}, Lparen: at, Args: args, Rparen: at}
}
