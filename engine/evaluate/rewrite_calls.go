package evaluate

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"
)

// call rewrites f(a, b = c) to call(site, f, a, b = c).
func (r *rewriter) call(x *syntax.CallExpr, soft softness) syntax.Expr {
	r.enter(x)
	defer func() { r.depth-- }()
	index := len(r.sites)
	r.sites = append(r.sites, site{callee: r.source(x.Fn), soft: soft})
	if soft == statement {
		r.arguments++
		defer func() { r.arguments-- }()
	}
	args := []syntax.Expr{intLiteral(index, x.Lparen), r.expr(x.Fn)}
	var named []syntax.Expr
	var star, starStar *syntax.UnaryExpr
	for _, arg := range x.Args {
		switch a := arg.(type) {
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR {
				star = a
				a.X = r.builtin(nameEach, a.OpPos, r.expr(a.X), intLiteral(-1, a.OpPos))
				continue
			} else if a.Op == syntax.STARSTAR {
				starStar = a
				a.X = r.builtin(nameStar, a.OpPos, r.expr(a.X))
				continue
			}
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				a.Y = r.expr(a.Y)
				named = append(named, a)
				continue
			}
		}
		args = append(args, r.expr(arg))
	}
	if len(args) > maxArgs {
		star = r.gatherPositional(x, args[2:], star)
		args = args[:2:2]
	}
	if len(named) > maxArgs {
		starStar = r.gatherNamed(x, named, starStar)
		named = nil
	}
	args = append(args, named...)
	if star != nil {
		args = append(args, star)
	}
	if starStar != nil {
		args = append(args, starStar)
	}
	return &syntax.CallExpr{
		Fn:     &syntax.Ident{NamePos: x.Lparen, Name: nameCall},
		Lparen: x.Lparen,
		Args:   args,
		Rparen: x.Rparen,
	}
}

// gatherPositional turns many positional arguments into one `*[...]`.
func (r *rewriter) gatherPositional(x *syntax.CallExpr, args []syntax.Expr, star *syntax.UnaryExpr) *syntax.UnaryExpr {
	var list syntax.Expr = &syntax.ListExpr{Lbrack: x.Lparen, List: args, Rbrack: x.Rparen}
	if star != nil {
		rest := r.builtin(nameList, star.OpPos, star.X)
		list = &syntax.BinaryExpr{X: list, OpPos: star.OpPos, Op: syntax.PLUS, Y: rest}
	}
	return &syntax.UnaryExpr{OpPos: x.Lparen, Op: syntax.STAR, X: list}
}

// gatherNamed turns many keyword arguments into one `**{...}`.
func (r *rewriter) gatherNamed(x *syntax.CallExpr, named []syntax.Expr, starStar *syntax.UnaryExpr) *syntax.UnaryExpr {
	dict := &syntax.DictExpr{Lbrace: x.Lparen, Rbrace: x.Rparen}
	for _, arg := range named {
		pair := arg.(*syntax.BinaryExpr)
		key := pair.X.(*syntax.Ident)
		literal := &syntax.Literal{Token: syntax.STRING, TokenPos: key.NamePos, Raw: key.Name, Value: key.Name}
		dict.List = append(dict.List, &syntax.DictEntry{Key: literal, Colon: pair.OpPos, Value: pair.Y})
	}
	var all syntax.Expr = dict
	if starStar != nil {
		all = &syntax.BinaryExpr{X: dict, OpPos: starStar.OpPos, Op: syntax.PIPE, Y: starStar.X}
	}
	return &syntax.UnaryExpr{OpPos: x.Lparen, Op: syntax.STARSTAR, X: all}
}

// fstring turns f"a{x}b" into "a{}b".format(x).
func (r *rewriter) fstring(x *syntax.Literal, text string) syntax.Expr {
	var format strings.Builder
	var args []syntax.Expr
	for i := 0; i < len(text); i++ {
		c := text[i]
		format.WriteByte(c)
		if (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c {
			i++
			format.WriteByte(c)
			continue
		}
		if c != '{' {
			continue
		}
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			panic(rewriteError{x.TokenPos, "f-string: a brace is not closed"})
		}
		inner := text[i+1 : i+end]
		if bang := strings.LastIndex(inner, "!"); bang > 0 && (inner[bang:] == "!r" || inner[bang:] == "!s") {
			format.WriteString(inner[bang:])
			inner = inner[:bang]
		}
		arg, err := fileOptions.ParseExpr(r.file.path, inner, 0)
		if err != nil {
			panic(rewriteError{x.TokenPos, fmt.Sprintf("f-string: cannot read %q", inner)})
		}
		args = append(args, r.expr(moveTo(arg, x.TokenPos)))
		i += end - 1
	}
	x.Token, x.Value = syntax.STRING, format.String()
	if len(args) == 0 {
		args = nil
	}
	method := &syntax.DotExpr{X: x, Dot: x.TokenPos, NamePos: x.TokenPos,
		Name: &syntax.Ident{NamePos: x.TokenPos, Name: "format"}}
	call := &syntax.CallExpr{Fn: method, Lparen: x.TokenPos, Rparen: x.TokenPos}
	index := len(r.sites)
	r.sites = append(r.sites, site{callee: "format"})
	call.Fn = &syntax.Ident{NamePos: x.TokenPos, Name: nameCall}
	call.Args = append([]syntax.Expr{intLiteral(index, x.TokenPos), method}, args...)
	return call
}

// moveTo gives the names and calls of an f-string's expression the position of the f-string.
func moveTo(x syntax.Expr, pos syntax.Position) syntax.Expr {
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			n.NamePos = pos
		case *syntax.CallExpr:
			n.Lparen = pos
		case *syntax.BinaryExpr:
			n.OpPos = pos
		case *syntax.DotExpr:
			n.Dot = pos
		case *syntax.IndexExpr:
			n.Lbrack = pos
		case *syntax.Literal:
			n.TokenPos = pos
		}
		return true
	})
	return x
}

const maxCallee = 200

// source is the text of a callee as written, folded to one line; what lies too deep in it is left out.
func (r *rewriter) source(x syntax.Expr) string { return calleeText(x, 16) }

func calleeText(x syntax.Expr, levels int) string {
	if levels == 0 {
		return "..."
	}
	text := "..."
	switch x := x.(type) {
	case *syntax.Ident:
		text = x.Name
	case *syntax.DotExpr:
		text = calleeText(x.X, levels-1) + "." + x.Name.Name
	case *syntax.ParenExpr:
		text = "(" + calleeText(x.X, levels-1) + ")"
	case *syntax.IndexExpr:
		text = calleeText(x.X, levels-1) + "[" + calleeText(x.Y, levels-1) + "]"
	case *syntax.CallExpr:
		text = calleeText(x.Fn, levels-1) + "(...)"
	case *syntax.Literal:
		text = x.Raw
	case *syntax.LambdaExpr:
		text = "lambda"
	}
	if len(text) > maxCallee {
		return "..."
	}
	return text
}
