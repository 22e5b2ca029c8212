package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// A stage is one command of a run.
type stage struct {
	name   string
	what   string // for people
	argv   []string
	groups []string // groupTest, groupAll or both
	lane   string   // stages of one lane run one by one, all lanes at once; "" is before all lanes
	needs  []string // stages that must have passed
	nice   bool     // it leaves the processors to the boxes beside it
	tests  bool     // argv is gotestsum, which counts
	far    bool     // it asks another machine and exits with statusUnreachable where that can't be reached
}

// The groups of stages. What is in both is built once and found built by the second.
const (
	groupTest = "test"     // what 'make test' runs
	groupAll  = "test-all" // what 'make test-all' runs besides
)

// eventDir is where the events of each stage's tests are kept.
const eventDir = ".out/test"

// boxes is the number of boxes among which the suite's tests are dealt out.
const boxes = 3

// withSlurm are the tests that share a box with a real Slurm.
const withSlurm = "^Test(SlurmEngine|Migrate)$"

// stages returns all stages for the repository at root.
//
// Three stages run tests that another stage has run, each for a reason:
//   - box13 repeats the tests of the boxes that another version of systemd or Slurm could break;
//   - emulated repeats TestAttackerJob, as only there all controllers of control groups exist;
//   - fuzz starts from the stored inputs, which the stages unit and race run as tests.
func stages(root string) ([]stage, error) {
	race, single, err := concurrent(root)
	if err != nil {
		return nil, err
	}
	unit, err := packagesBut(root, race)
	if err != nil {
		return nil, err
	}
	test, all, both := []string{groupTest}, []string{groupAll}, []string{groupTest, groupAll}
	list := []stage{
		{name: "build", what: "the programs", argv: []string{"make", "build"}, groups: both},
		{name: "package", what: "deb and rpm", argv: []string{"make", "-j2", "package"}, groups: both, needs: []string{"build"}},
		{name: "test-tools", what: "the suite and gotestsum, compiled once for all stages", argv: []string{"make", "test-tools"}, groups: both},
	}
	for k := 1; k <= boxes; k++ {
		list = append(list, inBox(fmt.Sprintf("box-%d", k), "what users see, in a container with a real systemd", test,
			"-part", fmt.Sprintf("%d/%d", k, boxes), "-skip", withSlurm))
	}
	return append(list,
		inBox("box-slurm", "the same commands on a real Slurm", test, "-quick", "-run", withSlurm),
		stage{name: "lint", what: "gofmt, go vet, staticcheck, shell syntax", argv: []string{"make", "lint"}, groups: test, lane: "unit", nice: true},
		stage{name: "modules", what: "the code of all modules is what go.sum says", argv: []string{"make", "modules"}, groups: test, lane: "unit", nice: true},
		// The stage lint has vet look at all packages, with all tags.
		stage{name: "unit", what: "packages without goroutines", groups: test, lane: "unit", nice: true, tests: true,
			argv: goTest("unit", append([]string{"-timeout", "15m"}, unit...)...)},
		// SQLite is C translated to Go, which one goroutine at a time runs; the detector makes it twelve times as slow.
		stage{name: "race", what: "packages with goroutines, with the race detector", groups: test, lane: "race", nice: true, tests: true,
			argv: goTest("race", append([]string{"-timeout", "15m", "-race", "-gcflags=modernc.org/...=-race=false",
				"-skip", "^(" + strings.Join(alone, "|") + ")$"}, race...)...)},
		stage{name: "single", what: "the tests of those packages that start no goroutine", groups: test, lane: "race", nice: true, tests: true,
			argv: goTest("single", append([]string{"-timeout", "15m", "-run", "^(" + strings.Join(alone, "|") + ")$"}, single...)...)},

		inBox("box13", "on Debian 13, what another systemd or Slurm could break", all, "-suite", "trixie", "-quick"),
		stage{name: "fuzz", what: "every fuzz test for a second", groups: all, lane: "fuzz", nice: true, tests: true,
			argv: append(gotestsum("fuzz"), "--raw-command", "--", "go", "run", "./packaging/test/fuzz", "-json", "-fresh", "-own", "-time", "1s")},
		stage{name: "vulnerabilities", what: "known ones in what the programs call", groups: all, lane: "fuzz", nice: true, far: true,
			argv: []string{"sh", "packaging/vulnerabilities.sh"}},
		stage{name: "package-check", what: "lintian, rpm, modes, manual pages, completions, reproducibility", groups: all, lane: "fuzz", nice: true,
			tests: true, needs: []string{"package"}, argv: goTest("package-check", "-tags", "packages", "-timeout", "20m", "./packaging/check/")},
		stage{name: "machines", what: "the test machines themselves, and the life of the package", groups: all, lane: "emulated", tests: true,
			needs: []string{"package"}, argv: goTest("machines", "-tags", "machine", "-timeout", "20m", "-p", "1",
				"./packaging/check/", "./packaging/test/vm/", "./packaging/test/machine/")},
		stage{name: "emulated", what: "limits, reboots and power cuts, in an emulated machine", groups: all, lane: "emulated", tests: true,
			needs: []string{"package"}, argv: goTest("emulated", "-tags", "machine", "-timeout", "45m", "./packaging/test/suite/", "-machine", "emulated")},
	), nil
}

// inBox is a stage that runs tests of the suite in a box of its own.
func inBox(name, what string, groups []string, args ...string) stage {
	return stage{name: name, what: what, groups: groups, lane: name, tests: true, needs: []string{"package"},
		argv: goTest(name, append([]string{"-tags", "machine", "-timeout", "40m", "./packaging/test/suite/", "-machine", "box"}, args...)...)}
}

// goTest returns a command that runs go test, counts the tests and prints those that fail.
func goTest(stage string, args ...string) []string {
	return append(append(gotestsum(stage), "--", "-count=1", "-vet=off"), args...)
}

func gotestsum(stage string) []string {
	return []string{"go", "tool", "-modfile=packaging/tools/go.mod", "gotestsum", "--format=pkgname-and-test-fails",
		"--format-hide-empty-pkg", "--hide-summary=output", "--no-color", "--jsonfile=" + eventDir + "/" + stage + ".json"}
}

// packagesBut lists the packages of the module at root but for some, as go test takes them.
func packagesBut(root string, but []string) ([]string, error) {
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Module.Path}}", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		path, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		if dir := "." + strings.TrimPrefix(path, module); !slices.Contains(but, dir) {
			list = append(list, dir)
		}
	}
	return list, nil
}
