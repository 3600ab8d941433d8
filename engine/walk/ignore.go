package walk

import (
	"fmt"
	"strings"
)

// ignores is a list of compiled ignore patterns.
type ignores struct {
	patterns []Pattern
}

// add compiles one ignore pattern. Without a slash it matches a name at any depth, except that a plain name is
// anchored where anchorPlain says so.
func (ig *ignores) add(pattern string, anchorPlain bool) error {
	text := strings.TrimSuffix(strings.TrimSpace(pattern), "/")
	anchored := strings.HasPrefix(text, "/") || strings.Contains(text, "/") ||
		(anchorPlain && !strings.ContainsAny(text, "*?[{"))
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return nil
	}
	if !anchored {
		text = "**/" + text
	}
	compiled, err := Compile(text, Options{Hidden: true, Braces: true})
	if err != nil {
		return fmt.Errorf("ignore: %w", err)
	}
	ig.patterns = append(ig.patterns, compiled...)
	return nil
}

func (ig *ignores) match(path []string) bool {
	for _, p := range ig.patterns {
		if p.Match(path) {
			return true
		}
	}
	return false
}
