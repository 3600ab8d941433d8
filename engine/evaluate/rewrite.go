package evaluate

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"
)

// Names of the builtins that the rewritten tree calls. No source text can spell them.
const (
	nameCall   = "\x00call"   // every call: (site, function, arguments...)
	nameLoad   = "\x00load"   // every load statement: (index)
	nameLoop   = "\x00loop"   // what a for statement iterates over: (value, count of names or -1)
	nameEach   = "\x00each"   // what a comprehension iterates over, likewise
	nameList   = "\x00list"   // *args that follow more than maxArgs others
	nameStar   = "\x00star"   // **kwargs
	nameUnpack = "\x00unpack" // what is assigned to several names: (count, value)
	namePlus   = "\x00plus"   // x + y
	nameTimes  = "\x00times"  // x * y
	nameFormat = "\x00format" // x % y
	nameIn     = "\x00in"     // x in y
	nameIndex  = "\x00index"  // x[y], where an error is soft
	nameOr     = "\x00or"     // x | y
	nameFactor = "\x00factor" // y of x[i] *= y and x[i] %= y
	nameAddend = "\x00addend" // y of x += y
)

const (
	maxArgs      = 240    // starlark-go allows 255; the rewriting adds two
	maxTreeDepth = 10_000 // of nested syntax, for the recursion in starlark-go's resolver and compiler
)

// A site is one call expression of a file.
type site struct {
	callee string
	soft   softness
}

// softness says what an error of the call costs.
type softness byte

const (
	hard      softness = iota // whatever encloses it
	statement                 // this call only
	value                     // this call only; its value is unknown
)

// A loadStmt is one load statement of a file.
type loadStmt struct {
	module string
	names  []string // as the module calls them
	pos    syntax.Position
}

// rewriter turns a parsed file into the tree that is evaluated.
type rewriter struct {
	file      *sourceFile
	isBuild   bool
	prepared  *prepared
	depth     int
	functions int // enclosing function definitions
	deciding  int // enclosing expressions that decide what is evaluated
	arguments int // enclosing calls in statement position, of the same function
	sites     []site
	loads     []loadStmt
}

// rewriteError is the panic value for what only the rewriter finds wrong.
type rewriteError struct {
	pos syntax.Position
	msg string
}

func (r *rewriter) stmts(list []syntax.Stmt) {
	if len(list) == 0 {
		return
	}
	r.enter(list[0])
	for i, s := range list {
		list[i] = r.stmt(s)
	}
	r.depth--
}

func (r *rewriter) enter(n syntax.Node) {
	if r.depth++; r.depth > maxTreeDepth {
		panic(rewriteError{treePosition(n), "the syntax is nested too deeply"})
	}
}

// treePosition finds a position of n without recursion over a deep tree.
func treePosition(n syntax.Node) syntax.Position {
	switch n := n.(type) {
	case *syntax.BinaryExpr:
		return n.OpPos
	case *syntax.CallExpr:
		return n.Lparen
	case *syntax.DotExpr:
		return n.Dot
	case *syntax.IndexExpr:
		return n.Lbrack
	case *syntax.IfStmt:
		return n.If
	}
	return syntax.Position{}
}

func (r *rewriter) stmt(s syntax.Stmt) syntax.Stmt {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return r.assign(s)
	case *syntax.DefStmt:
		r.params(s.Params)
		r.functions++
		r.stmts(s.Body)
		r.functions--
	case *syntax.ExprStmt:
		s.X = r.statementExpr(s.X)
	case *syntax.ForStmt:
		s.X = r.builtin(nameLoop, s.For, r.decision(s.X), intLiteral(patternLen(s.Vars), s.For))
		s.Vars = r.target(s.Vars)
		r.stmts(s.Body)
	case *syntax.WhileStmt:
		s.Cond = r.decision(s.Cond)
		r.stmts(s.Body)
	case *syntax.IfStmt:
		s.Cond = r.decision(s.Cond)
		r.stmts(s.True)
		r.stmts(s.False)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = r.expr(s.Result)
		}
	case *syntax.LoadStmt:
		return r.load(s)
	}
	return s
}

// statementExpr rewrites an expression in statement position, where a failing call costs that call only.
func (r *rewriter) statementExpr(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.CallExpr:
		return r.call(x, statement)
	case *syntax.ParenExpr:
		x.X = r.statementExpr(x.X)
		return x
	case *syntax.CondExpr:
		r.enter(x)
		x.Cond, x.True, x.False = r.decision(x.Cond), r.statementExpr(x.True), r.statementExpr(x.False)
		r.depth--
		return x
	case *syntax.Comprehension:
		if body, ok := x.Body.(*syntax.CallExpr); ok {
			r.enter(x)
			r.clauses(x.Clauses)
			x.Body = r.call(body, statement)
			r.depth--
			return x
		}
	}
	return r.expr(x)
}

// decision rewrites an expression on which it depends what is evaluated: no call in it may fail softly.
func (r *rewriter) decision(x syntax.Expr) syntax.Expr {
	r.deciding++
	defer func() { r.deciding-- }()
	return r.expr(x)
}

// isSoft reports whether a value here may be unknown instead of an error: at the top of a build file, and in the
// arguments of a call in statement position, where it costs the targets less than if the call were not made.
func (r *rewriter) isSoft() bool {
	return r.deciding == 0 && (r.arguments > 0 || r.isBuild && r.functions == 0)
}

func (r *rewriter) assign(s *syntax.AssignStmt) syntax.Stmt {
	s.RHS = r.expr(s.RHS)
	s.LHS = r.target(s.LHS)
	switch s.Op {
	case syntax.EQ:
		if n := patternLen(s.LHS); n >= 0 {
			if _, ok := s.RHS.(*syntax.TupleExpr); !ok {
				s.RHS = r.builtin(nameUnpack, s.OpPos, intLiteral(n, s.OpPos), s.RHS)
			}
		}
	case syntax.PLUS_EQ:
		s.RHS = r.builtin(nameAddend, s.OpPos, s.RHS)
	case syntax.STAR_EQ, syntax.PERCENT_EQ:
		ident, ok := s.LHS.(*syntax.Ident)
		if !ok {
			s.RHS = r.builtin(nameFactor, s.OpPos, s.RHS)
			break
		}
		name := nameTimes
		if s.Op == syntax.PERCENT_EQ {
			name = nameFormat
		}
		use := &syntax.Ident{NamePos: ident.NamePos, Name: ident.Name}
		s.RHS = r.builtin(name, s.OpPos, use, s.RHS)
		s.Op = syntax.EQ
	}
	return s
}

// target rewrites what is assigned to.
func (r *rewriter) target(lhs syntax.Expr) syntax.Expr {
	return r.decision(lhs)
}

// patternLen is the number of names that an assignment unpacks into, or -1.
func patternLen(lhs syntax.Expr) int {
	switch lhs := lhs.(type) {
	case *syntax.ParenExpr:
		return patternLen(lhs.X)
	case *syntax.TupleExpr:
		return len(lhs.List)
	case *syntax.ListExpr:
		return len(lhs.List)
	}
	return -1
}

// load turns a load statement into an assignment, so that it may stand anywhere, twice, and lack symbols.
func (r *rewriter) load(s *syntax.LoadStmt) syntax.Stmt {
	if r.functions > 0 {
		panic(rewriteError{s.Load, "load statement within a function"})
	}
	stmt := loadStmt{module: s.ModuleName(), pos: s.Load}
	var lhs []syntax.Expr
	for i, from := range s.From {
		stmt.names = append(stmt.names, from.Name)
		to := s.To[i]
		lhs = append(lhs, &syntax.Ident{NamePos: to.NamePos, Name: to.Name})
	}
	rhs := r.builtin(nameLoad, s.Load, intLiteral(len(r.loads), s.Load))
	r.loads = append(r.loads, stmt)
	target := lhs[0]
	if len(lhs) > 1 {
		target = &syntax.TupleExpr{List: lhs}
	}
	return &syntax.AssignStmt{OpPos: s.Load, Op: syntax.EQ, LHS: target, RHS: rhs}
}

func (r *rewriter) params(params []syntax.Expr) {
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			b.Y = r.expr(b.Y)
		}
	}
}

func (r *rewriter) exprs(list []syntax.Expr) {
	for i, x := range list {
		list[i] = r.expr(x)
	}
}

func (r *rewriter) expr(x syntax.Expr) syntax.Expr {
	if x == nil {
		return nil
	}
	r.enter(x)
	defer func() { r.depth-- }()
	switch x := x.(type) {
	case *syntax.Literal:
		return r.literal(x)
	case *syntax.CallExpr:
		if r.isSoft() {
			return r.call(x, value)
		}
		return r.call(x, hard)
	case *syntax.BinaryExpr:
		x.X, x.Y = r.expr(x.X), r.expr(x.Y)
		switch x.Op {
		case syntax.PLUS:
			return r.builtin(namePlus, x.OpPos, x.X, x.Y)
		case syntax.STAR:
			return r.builtin(nameTimes, x.OpPos, x.X, x.Y)
		case syntax.PERCENT:
			return r.builtin(nameFormat, x.OpPos, x.X, x.Y)
		case syntax.PIPE:
			return r.builtin(nameOr, x.OpPos, x.X, x.Y)
		case syntax.IN:
			return r.builtin(nameIn, x.OpPos, x.X, x.Y)
		case syntax.NOT_IN:
			return &syntax.UnaryExpr{OpPos: x.OpPos, Op: syntax.NOT, X: r.builtin(nameIn, x.OpPos, x.X, x.Y)}
		}
	case *syntax.Comprehension:
		r.clauses(x.Clauses)
		x.Body = r.expr(x.Body)
	case *syntax.CondExpr:
		x.Cond, x.True, x.False = r.decision(x.Cond), r.expr(x.True), r.expr(x.False)
	case *syntax.DictEntry:
		x.Key, x.Value = r.expr(x.Key), r.expr(x.Value)
	case *syntax.DictExpr:
		r.exprs(x.List)
	case *syntax.DotExpr:
		x.X = r.expr(x.X)
	case *syntax.IndexExpr:
		x.X, x.Y = r.expr(x.X), r.expr(x.Y)
		if r.isSoft() {
			return r.builtin(nameIndex, x.Lbrack, x.X, x.Y)
		}
	case *syntax.LambdaExpr:
		r.params(x.Params)
		arguments := r.arguments
		r.functions++
		r.arguments = 0
		x.Body = r.expr(x.Body)
		r.functions--
		r.arguments = arguments
	case *syntax.ListExpr:
		r.exprs(x.List)
	case *syntax.ParenExpr:
		x.X = r.expr(x.X)
	case *syntax.SliceExpr:
		x.X, x.Lo, x.Hi, x.Step = r.expr(x.X), r.expr(x.Lo), r.expr(x.Hi), r.expr(x.Step)
	case *syntax.TupleExpr:
		r.exprs(x.List)
	case *syntax.UnaryExpr:
		x.X = r.expr(x.X)
	}
	return x
}

func (r *rewriter) clauses(clauses []syntax.Node) {
	for _, c := range clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			c.X = r.builtin(nameEach, c.For, r.decision(c.X), intLiteral(patternLen(c.Vars), c.For))
			c.Vars = r.target(c.Vars)
		case *syntax.IfClause:
			c.Cond = r.decision(c.Cond)
		}
	}
}

func (r *rewriter) builtin(name string, pos syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: pos, Name: name}, Lparen: pos, Args: args, Rparen: pos}
}

func intLiteral(n int, pos syntax.Position) syntax.Expr {
	return &syntax.Literal{Token: syntax.INT, TokenPos: pos, Raw: fmt.Sprint(n), Value: int64(n)}
}

// literal restores what prepare replaced.
func (r *rewriter) literal(x *syntax.Literal) syntax.Expr {
	text, ok := x.Value.(string)
	if !ok {
		return x
	}
	if r.prepared.escapes {
		text = strings.ReplaceAll(text, string(keptBackslash), "\\")
		x.Value = text
	}
	if x.Token == syntax.BYTES && r.prepared.fstrings[position{int(x.TokenPos.Line), int(x.TokenPos.Col)}] {
		return r.fstring(x, text)
	}
	return x
}
