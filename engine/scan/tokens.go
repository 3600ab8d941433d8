package scan

// token is a piece of the source: buf[start:end].
type token struct {
	start, end uint32
	kind       kind
	sub        sub
}

// kind is what the grammar tells apart. Every operator and every hard keyword has its own.
type kind uint8

const (
	tBad kind = iota // stands in for every token after an error, so that all of the recognizer's loops end
	tEOF
	tErr // a piece that is no token
	tNewline
	tIndent
	tDedent
	tName
	tNumber
	tString
	tFStart // the opening of an f-string or t-string
	tFMiddle
	tFEnd

	tLParen
	tRParen
	tLBracket
	tRBracket
	tLBrace // also that of a replacement field
	tRBrace
	tColon
	tComma
	tSemi
	tDot
	tEllipsis
	tArrow
	tAt
	tAssign
	tAugAssign
	tWalrus
	tExclaim
	tBacktick
	tPlus
	tMinus
	tStar
	tDoubleStar
	tSlash
	tDoubleSlash
	tPercent
	tShift
	tAmper
	tBar
	tCaret
	tTilde
	tCompare // < > <= >= == !=

	kFalse
	kNone
	kTrue
	kAnd
	kAs
	kAssert
	kAsync
	kAwait
	kBreak
	kClass
	kContinue
	kDef
	kDel
	kElif
	kElse
	kExcept
	kFinally
	kFor
	kFrom
	kGlobal
	kIf
	kImport
	kIn
	kIs
	kLambda
	kNonlocal
	kNot
	kOr
	kPass
	kRaise
	kReturn
	kTry
	kWhile
	kWith
	kYield
	numKinds
)

// sub says more about a token: which soft keyword or telling name a tName is, or what a tString, tFStart, tNumber or
// tCompare is like.
type sub uint8

const (
	nPlain sub = iota
	nMatch
	nCase
	nType
	nUnderscore
	nPrint // print or exec, statements in Python 2
	nAll
	nDunderName
)

const (
	sBytes sub = 1 << iota
	sRaw
	sTriple
	sEscape // holds a backslash
	sTemplate
)

const (
	numImaginary sub = 1
	cmpEqual     sub = 1
)

// classify tells keywords and telling names from plain names.
func classify(word []byte) (kind, sub) {
	switch string(word) {
	case "False":
		return kFalse, 0
	case "None":
		return kNone, 0
	case "True":
		return kTrue, 0
	case "and":
		return kAnd, 0
	case "as":
		return kAs, 0
	case "assert":
		return kAssert, 0
	case "async":
		return kAsync, 0
	case "await":
		return kAwait, 0
	case "break":
		return kBreak, 0
	case "class":
		return kClass, 0
	case "continue":
		return kContinue, 0
	case "def":
		return kDef, 0
	case "del":
		return kDel, 0
	case "elif":
		return kElif, 0
	case "else":
		return kElse, 0
	case "except":
		return kExcept, 0
	case "finally":
		return kFinally, 0
	case "for":
		return kFor, 0
	case "from":
		return kFrom, 0
	case "global":
		return kGlobal, 0
	case "if":
		return kIf, 0
	case "import":
		return kImport, 0
	case "in":
		return kIn, 0
	case "is":
		return kIs, 0
	case "lambda":
		return kLambda, 0
	case "nonlocal":
		return kNonlocal, 0
	case "not":
		return kNot, 0
	case "or":
		return kOr, 0
	case "pass":
		return kPass, 0
	case "raise":
		return kRaise, 0
	case "return":
		return kReturn, 0
	case "try":
		return kTry, 0
	case "while":
		return kWhile, 0
	case "with":
		return kWith, 0
	case "yield":
		return kYield, 0
	case "match":
		return tName, nMatch
	case "case":
		return tName, nCase
	case "type":
		return tName, nType
	case "_":
		return tName, nUnderscore
	case "print", "exec":
		return tName, nPrint
	case "__all__":
		return tName, nAll
	case "__name__":
		return tName, nDunderName
	}
	return tName, nPlain
}

// isWord holds the bytes that identifiers and numbers are made of; those beyond ASCII are looked at again.
var isWord = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= 0x80 || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return
}()

// precedence of binary operators, loosest first; 0 for what is none.
const (
	precOr = iota + 1
	precAnd
	precNot
	precCompare
	precBar
	precCaret
	precAmper
	precShift
	precSum
	precTerm
)

var precedence = [numKinds]uint8{
	kOr: precOr, kAnd: precAnd, kIn: precCompare, kIs: precCompare, kNot: precCompare, tCompare: precCompare,
	tBar: precBar, tCaret: precCaret, tAmper: precAmper, tShift: precShift, tPlus: precSum, tMinus: precSum,
	tStar: precTerm, tSlash: precTerm, tDoubleSlash: precTerm, tPercent: precTerm, tAt: precTerm,
}
