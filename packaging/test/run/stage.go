package main

import (
	"fmt"
	"slices"
	"strings"
)

// A stage is one command of a run.
type stage struct {
	name  string
	what  string // description for people
	argv  []string
	phase int      // building, packing, boxes or after
	lane  string   // the stages of a lane run one by one, the lanes of a phase at the same time
	needs []string // stages that must have passed
	nice  bool     // runs at a lower priority than the machines beside it
	tests bool     // argv runs gotestsum, which counts tests
	far   bool     // asks another machine; exits with statusUnreachable if it cannot reach it
}

// Groups of stages, by the make target that runs them.
const (
	groupTest = "test"     // make test
	groupAll  = "test-all" // make test-all
)

// Phases of a run. The tests of the last phase have time limits that they would exceed beside four
// boxes.
const (
	building = iota
	packing
	boxes
	after
	phases
)

// eventDir is the directory of each stage's test events.
const eventDir = ".out/test"

// parts is the number of boxes that share the suite's tests.
const parts = 4

// withSlurm matches the tests that share a box with a real Slurm and its callers.
const withSlurm = "^Test(SlurmEngine|Migrate|Snakemake)$"

// hostile matches the tests of attacks and of kills at any moment: a fifth of the suite by time.
const hostile = "^Test(Attacker|Chaos$|Crashes$|Kills$)"

// computing lists packages whose tests compute for a long time and have no time limits that four
// boxes could break.
var computing = []string{"./daemon/core", "./daemon/dst", "./daemon/sched", "./daemon/sim"}

// stages returns the stages of each group for the repository at root. The stages of building and
// packing are in both groups.
//
// Five stages repeat tests of another stage, each for a reason:
//   - race repeats the tests of packages with goroutines under the detector, which would take ten
//     minutes of make test with an empty cache;
//   - box13 repeats the tests of the boxes whose results another systemd or Slurm could change;
//   - emulated repeats TestAttackerJob, because only there all control group controllers exist;
//   - fuzz starts from the stored inputs, which other stages run as tests;
//   - machines repeats the dozen tests of its packages that need no machine, which take no time.
func stages(root string) (map[string][]stage, error) {
	list, err := packages(root)
	if err != nil {
		return nil, err
	}
	race := paths(list, func(p pkg) bool { return p.race })
	cgo := paths(list, func(p pkg) bool { return p.cgo })
	unit := paths(list, func(p pkg) bool { return !p.cgo && !slices.Contains(computing, p.path) })
	plain, err := withoutRace(root)
	if err != nil {
		return nil, err
	}
	build := []stage{
		in(building, step("build", "the programs, and nfpm", "build", "make", "-j3", "build", "nfpm")),
		in(packing, step("package", "deb and rpm", "package", "make", "-j2", "package")),
		in(packing, step("test-tools", "the suite and gotestsum, compiled once for all stages", "tools",
			"make", "test-tools")),
	}
	test := slices.Concat(build, inBoxes(), []stage{
		in(building, step("images", "what the boxes are booted from, fetched while programs are compiled", "images", "make", "images")),
		inBox("box-slurm", "the same commands on a real Slurm", "-quick", "-run", withSlurm),
		niced(step("lint", "gofmt, go vet, shell syntax", "lint", "sh", "packaging/lint.sh", "vet")),
		niced(step("modules", "the code of all modules is what go.sum says", "lint", "make", "modules")),
		niced(goTest("compute", "packages that only compute", "compute", computing...)),
		// The lint stage runs vet on all packages with all tags.
		in(after, goTest("unit", "what needs nothing but Go", "unit", unit...)),
		withCgo(in(after, goTest("nvml", "packages with C", "nvml", cgo...))),
	})
	// An emulated machine starves beside two busy lanes, so everything else shares one lane, and
	// stages that only compute are niced.
	box13 := inBox("box13", "on Debian 13, what another systemd or Slurm could break", "-suite", "trixie", "-quick")
	box13.lane = "rest"
	vulnerabilities := step("vulnerabilities", "known ones in what the programs call", "rest", "sh", "packaging/vulnerabilities.sh")
	vulnerabilities.far = true
	fuzz := niced(step("fuzz", "every fuzz test with 2000 inputs", "rest", append(gotestsum("fuzz"), "--raw-command", "--",
		"go", "tool", "test2json", "-t", "-p", "fuzz", "sh", "packaging/fuzz.sh", "2000x")...))
	fuzz.tests = true
	attacked := inBox("box-hostile", "what attackers do, and kills, in a box of Debian 12", "-run", hostile)
	attacked.lane = "rest"
	all := slices.Concat(build, []stage{
		box13,
		attacked,
		fuzz,
		vulnerabilities,
		niced(withCgo(goTest("race", "packages with goroutines or C, with the race detector", "rest",
			slices.Concat(raceFlags, []string{"-skip", plain}, race)...))),
		niced(step("staticcheck", "which takes as long as all of lint where nothing is compiled", "rest",
			"sh", "packaging/lint.sh", "staticcheck")),
		needsPackage(goTest("machines", "the test machines themselves, and the life of the package", "emulated",
			"-tags", "machine", "-p", "1", "./packaging/check/", "./packaging/test/vm/", "./packaging/test/machine/")),
		needsPackage(goTest("emulated", "limits, reboots and power cuts, in an emulated machine", "emulated",
			"-tags", "machine", "./packaging/test/suite/", "-machine", "emulated")),
		// It comes last in the lane that ends first.
		niced(needsPackage(goTest("package-check", "lintian, rpm, modes, manual pages, completions, reproducibility", "emulated",
			"-tags", "packages", "./packaging/check/"))),
	})
	return map[string][]stage{groupTest: test, groupAll: all}, nil
}

// step returns a stage that counts as one.
func step(name, what, lane string, argv ...string) stage {
	return stage{name: name, what: what, phase: boxes, lane: lane, argv: argv}
}

// goTest returns a stage that runs go test, counts the tests and prints failures.
func goTest(name, what, lane string, args ...string) stage {
	argv := append(gotestsum(name), "--", "-count=1", "-vet=off", "-timeout", testLimit.String())
	s := step(name, what, lane, append(argv, args...)...)
	s.tests = true
	return s
}

// inBoxes returns the stages that share the suite's tests.
func inBoxes() (list []stage) {
	for k := 1; k <= parts; k++ {
		list = append(list, inBox(fmt.Sprintf("box-%d", k), "what users see, in a container with a real systemd",
			"-part", fmt.Sprintf("%d/%d", k, parts), "-skip", withSlurm+"|"+hostile))
	}
	return list
}

// inBox returns a stage that runs tests of the suite in its own box.
func inBox(name, what string, args ...string) stage {
	args = append([]string{"-tags", "machine", "./packaging/test/suite/", "-machine", "box"}, args...)
	return needsPackage(goTest(name, what, name, args...))
}

// raceFlags turn the race detector on, except for SQLite: it is C translated to Go, only one
// goroutine at a time runs it, and the detector would make it twelve times as slow.
var raceFlags = []string{"-race", "-gcflags=modernc.org/...=-race=false"}

func in(phase int, s stage) stage {
	s.phase = phase
	return s
}

func niced(s stage) stage {
	s.nice = true
	return s
}

// withCgo turns cgo on for a stage that compiles C; the Makefile turns it off.
func withCgo(s stage) stage {
	s.argv = append([]string{"env", "CGO_ENABLED=1"}, s.argv...)
	return s
}

func needsPackage(s stage) stage {
	s.needs = []string{"package"}
	return s
}

// only returns a pattern that matches the tests with these names.
func only(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

func gotestsum(stage string) []string {
	return []string{"go", "tool", "-modfile=packaging/tools/go.mod", "gotestsum", "--format=pkgname-and-test-fails",
		"--format-hide-empty-pkg", "--hide-summary=output", "--no-color", "--jsonfile=" + eventDir + "/" + stage + ".json"}
}
