package daemon_test

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A type may have at most this many fields and methods, so that a reader can remember them.
const (
	mostFields  = 15
	mostMethods = 60
)

// wideTypes lists the types that may have more fields and methods. The keys of the map are the reasons for that.
var wideTypes = map[string][]string{
	"each field is one thing that a request, an answer or a record says, and stands for itself": {
		"daemon/api.HostAnswer",
		"daemon/api.Job",
		"daemon/api.ListQuery",
		"daemon/job.Event",
		"daemon/job.GPU",
		"daemon/job.Life",
		"daemon/job.Request",
		"daemon/job.Result",
		"daemon/report.Row",
		"daemon/sched.Waiting",
		"gpu.Device",
		"units.Spec",
		"units.Status",
		"units/launch.Spec",
	},
	"each field is a setting, or an option that is typed": {
		"cmd/gpusched/alias.Call",
		"cmd/gpusched/client.grammar",
		"cmd/gpusched/slurm.Batch",
		"cmd/gpusched/submit.JobOptions",
		"daemon/config.GPUs",
		"daemon/config.Jobs",
		"daemon/core/site.Policy",
		"daemon/sim/cli.options",
	},
	"each field is something outside that is handed in": {
		"daemon.Options",
		"daemon/server.Options",
	},
	"each field is a figure or a part of what is shown": {
		"cmd/gpusched-web.jobView",
		"cmd/gpusched-web.pageView",
		"daemon/sim.Metrics",
	},
	"it is the state of one thing, all of which each event may change": {
		"cmd/gpusched-top/screen.Model",
		"daemon/sim.engine",
		"units/terminal/hold.holder",
	},
	"placement is one plan, whose parts are read together": {
		"daemon/sched.Account",
		"daemon/sched.GPU",
		"daemon/sched.Running",
		"daemon/sched.future",
	},
	"each field is a part of it, most with a type and a file of their own": {
		"daemon.Daemon",
	},
	"it has a method for each route, or for each thing that is kept or asked": {
		"daemon/store.Store",
		"units/systemd.Manager",
	},
	"it is a world, or a part of one, for tests alone": {
		"daemon/server/servertest.Backend",
	},
}

// shadows lists fields and methods that hide a field or method of an embedded type. The keys of the
// map are the reasons for that.
var shadows = map[string][]string{
	"the wire has more of it, or in another form, under the same key": {
		"cmd/gpusched-mcp.listOut.GPUs",
		"daemon/api.Attempt.GPUs",
		"daemon/api.Attempt.Result",
		"daemon/api.Job.After",
		"daemon/api.Job.Array",
		"daemon/api.Reason.Detail",
		"daemon/api.Reservation.GPUs",
		"daemon/api.Reservation.Groups",
		"daemon/api.Reservation.Users",
		"daemon/job.ShownResult.Code",
	},
	"it does the same for itself with what it embeds": {
		"cmd/gpusched/logs.Printer.Say",
		"daemon/config.Problem.String",
		"daemon/job.Options.IsZero",
		"daemon/sched.hostCapacity.clampTo",
	},
	"it is another command with the same options": {
		"cmd/gpusched/submit.ShellCmd.About",
		"cmd/gpusched/submit.ShellCmd.Run",
	},
	"a unit may be stopped whichever attempt of the job it is of": {
		"daemon/core.Stop.Attempt",
	},
}

// typeOf has the fields and methods of a type.
type typeOf struct {
	fields, methods []string
	embedded        []string // embedded types, such as "daemon/job.Job"
}

// TestTypesAreSmall: no type has more fields or methods than a reader can remember. No type has a
// field or method that hides a member of an embedded type.
func TestTypesAreSmall(t *testing.T) {
	types, mayBeWide, mayHide := declaredTypes(t), slices.Concat(slices.Collect(maps.Values(wideTypes))...), slices.Concat(slices.Collect(maps.Values(shadows))...)
	wide, hidden := map[string]bool{}, map[string]bool{}
	for name, typ := range types {
		if f, m := len(typ.fields), len(typ.methods); f > mostFields || m > mostMethods {
			wide[name] = true
			if !slices.Contains(mayBeWide, name) {
				t.Errorf("%s has %d fields and %d methods, over %d and %d: divide it, or say in wideTypes why not",
					name, f, m, mostFields, mostMethods)
			}
		}
		for _, own := range slices.Concat(typ.methods, typ.fields) {
			for _, e := range typ.embedded {
				if !ast.IsExported(own) && packageOf(e) != packageOf(name) || !hasMember(types, e, own) {
					continue
				}
				hidden[name+"."+own] = true
				if !slices.Contains(mayHide, name+"."+own) {
					t.Errorf("%s.%s hides that of %s, which it embeds: rename one, embed nothing, or say in shadows why not", name, own, e)
				}
			}
		}
	}
	for _, name := range mayBeWide {
		if !wide[name] {
			t.Errorf("%s is in wideTypes and not wide", name)
		}
	}
	for _, name := range mayHide {
		if !hidden[name] {
			t.Errorf("%s is in shadows and hides nothing", name)
		}
	}
}

// hasMember reports whether a type, or a type that is embedded in it, has a field or method of the
// given name.
func hasMember(types map[string]*typeOf, name, member string) bool {
	typ := types[name]
	if typ == nil {
		return false // a type of another module
	}
	return slices.Contains(typ.methods, member) || slices.Contains(typ.fields, member) ||
		slices.ContainsFunc(typ.embedded, func(e string) bool { return hasMember(types, e, member) })
}

// declaredTypes returns all types of the tree except those of tests, by directory and name.
func declaredTypes(t *testing.T) map[string]*typeOf {
	t.Helper()
	all := map[string]*typeOf{}
	at := func(dir, name string) *typeOf {
		key := dir + "." + name
		if all[key] == nil {
			all[key] = &typeOf{}
		}
		return all[key]
	}
	goFiles(t, func(file string, _ []byte, _ *token.FileSet, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		dir, imports := path.Dir(file), importsOf(f)
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					typ := at(dir, receiver(d.Recv.List[0].Type))
					typ.methods = append(typ.methods, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						if s, ok := ts.Type.(*ast.StructType); ok {
							at(dir, ts.Name.Name).addFields(dir, imports, s)
						}
					}
				}
			}
		}
	})
	return all
}

func (typ *typeOf) addFields(dir string, imports map[string]string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			typ.fields = append(typ.fields, name.Name)
		}
		if len(field.Names) > 0 {
			continue
		}
		switch e := strip(field.Type).(type) {
		case *ast.Ident:
			typ.fields, typ.embedded = append(typ.fields, e.Name), append(typ.embedded, dir+"."+e.Name)
		case *ast.SelectorExpr:
			typ.fields = append(typ.fields, e.Sel.Name)
			if from := imports[e.X.(*ast.Ident).Name]; from != "" {
				typ.embedded = append(typ.embedded, from+"."+e.Sel.Name)
			}
		}
	}
}

// importsOf returns the directory of each of our packages that a file imports.
// The key is the package's name in the file.
func importsOf(f *ast.File) map[string]string {
	all := map[string]string{}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		dir, ours := strings.CutPrefix(p, "github.com/gpusched/gpusched/")
		if name := path.Base(p); ours {
			if i.Name != nil {
				name = i.Name.Name
			}
			all[name] = dir
		}
	}
	return all
}

// strip removes pointers and type arguments from a type.
func strip(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.StarExpr:
		return strip(x.X)
	case *ast.IndexExpr:
		return strip(x.X)
	case *ast.IndexListExpr:
		return strip(x.X)
	}
	return e
}

// packageOf returns the directory of the package that declares a type.
func packageOf(name string) string { return name[:strings.LastIndexByte(name, '.')] }

func receiver(e ast.Expr) string {
	name, _ := strip(e).(*ast.Ident)
	return name.Name
}
