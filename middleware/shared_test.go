package middleware_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shared lists what a file shares between sessions by itself: init functions, and package variables that are locks or
// that some function changes. globals are the package's variables, in whichever file they stand.
func shared(fset *token.FileSet, f *ast.File, globals map[string]bool) []string {
	var out []string
	at := func(n ast.Node, what string) {
		out = append(out, fmt.Sprintf("%s: %s", fset.Position(n.Pos()), what))
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				at(d, "func init: state lives in what Open or Child returns")
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok || d.Tok != token.VAR {
					continue
				}
				types := []ast.Expr{v.Type}
				for _, x := range v.Values {
					if lit, is := x.(*ast.CompositeLit); is {
						types = append(types, lit.Type)
					}
				}
				for _, typ := range types {
					if sel, is := typ.(*ast.SelectorExpr); is {
						if pkg, is := sel.X.(*ast.Ident); is && (pkg.Name == "sync" || pkg.Name == "atomic") {
							at(v, fmt.Sprintf("var %s is a %s.%s that every session shares", v.Names[0], pkg.Name, sel.Sel))
						}
					}
				}
			}
		}
	}
	changed := func(n ast.Node, x ast.Expr) {
		id := root(x)
		if id == nil || !globals[id.Name] {
			return
		}
		if id.Obj != nil {
			if _, isVar := id.Obj.Decl.(*ast.ValueSpec); !isVar || f.Scope.Objects[id.Name] != id.Obj {
				return // a local that hides the package's
			}
		}
		at(n, fmt.Sprintf("var %s is changed, and every session shares it", id.Name))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, x := range n.Lhs {
					changed(n, x)
				}
			}
		case *ast.IncDecStmt:
			changed(n, n.X)
		case *ast.CallExpr:
			if id, is := n.Fun.(*ast.Ident); is && (id.Name == "delete" || id.Name == "clear" || id.Name == "copy") {
				changed(n, n.Args[0])
			}
		}
		return true
	})
	return out
}

// root is the variable that an assignment's left side hangs off.
func root(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.Ident:
			return y
		case *ast.IndexExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		default:
			return nil
		}
	}
}

// globalsOf are the names of the variables that files declare at package level.
func globalsOf(files []*ast.File) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					out[n.Name] = true
				}
			}
		}
	}
	return out
}

func TestSharedStateIsFoundWhereverItHides(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		want int
	}{
		"a table that is only read":    {`var t = map[string]int{"a": 1}; func f() int { return t["a"] }`, 0},
		"a local of the same name":     {`var t = map[string]int{}; func f() { t := map[string]int{}; t["a"] = 1 }`, 0},
		"a parameter of the same name": {`var t map[string]int; func f(t map[string]int) { t["a"] = 1 }`, 0},
		"a function once":              {`import "sync"; var t = sync.OnceValue(func() int { return 1 })`, 0},
		"a method called init":         {`type x int; func (x) init() {}`, 0},
		"init":                         {`func init() {}`, 1},
		"a registry":                   {`var t = map[string]int{}; func Register(n string) { t[n] = 1 }`, 1},
		"a list that grows":            {`var t []int; func f() { t = append(t, 1) }`, 1},
		"a counter":                    {`var t int; func f() { t++ }`, 1},
		"a field":                      {`var t struct{ n int }; func f() { t.n = 1 }`, 1},
		"a deletion":                   {`var t map[int]int; func f() { delete(t, 1) }`, 1},
		"a map of sync":                {`import "sync"; var t sync.Map`, 1},
		"a lock":                       {`import "sync"; var t = sync.Mutex{}`, 1},
		"an atomic":                    {`import "sync/atomic"; var t atomic.Int64`, 1},
		"a variable of another file":   {`func f() { elsewhere["a"] = 1 }`, 1},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", "package x; "+c.code, 0)
		require.NoError(t, err, name)
		globals := globalsOf([]*ast.File{f})
		globals["elsewhere"] = true
		require.Len(t, shared(fset, f, globals), c.want, name)
	}
}

func TestNoPackageSharesMutableStateOrRunsInit(t *testing.T) {
	for _, s := range listed(t, module+"/...") {
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range slices.Concat(s.GoFiles, s.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, filepath.Join(s.Dir, name), nil, 0)
			require.NoError(t, err)
			files = append(files, f)
		}
		require.NotEmpty(t, files, s.ImportPath)
		globals := globalsOf(files)
		for _, f := range files {
			for _, found := range shared(fset, f, globals) {
				t.Error(found)
			}
		}
	}
}
