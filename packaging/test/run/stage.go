package main

import (
	"fmt"
	"slices"
	"strings"
)

// A stage is one command of a run.
type stage struct {
	name  string
	what  string // for people
	argv  []string
	phase int      // building, packing, boxes or after
	lane  string   // stages of one lane run one by one, all lanes of a phase at once
	needs []string // stages that must have passed
	nice  bool     // it leaves the processors to the machines beside it
	tests bool     // argv is gotestsum, which counts
	far   bool     // it asks another machine and exits with statusUnreachable where that can't be reached
}

// The groups of stages by the commands that run them.
const (
	groupTest = "test"     // make test
	groupAll  = "test-all" // make test-all
)

// The phases of a run. The tests of the last one have time limits, which they would not keep beside four boxes.
const (
	building = iota
	packing
	boxes
	after
	phases
)

// eventDir is where the events of each stage's tests are kept.
const eventDir = ".out/test"

// parts is the number of boxes among which the suite's tests are dealt out.
const parts = 4

// withSlurm are the tests that share a box with a real Slurm, and with what calls one.
const withSlurm = "^Test(SlurmEngine|Migrate|Snakemake)$"

// hostile are the tests of what attackers do, and of kills in the midst of things: a fifth of the suite by time.
const hostile = "^Test(Attacker|Chaos$|Crashes$|Kills$)"

// computing are packages whose tests only compute, for long: they have no time limits that four boxes could break.
var computing = []string{"./daemon/core", "./daemon/dst", "./daemon/sched", "./daemon/sim"}

// stages returns the stages of each group for the repository at root. Those of building and packing are in both.
//
// Five stages run tests that another stage has run, each for a reason:
//   - race repeats those of the packages with goroutines under the detector: to compile for it and to run so took ten
//     of the minutes of make test with an empty cache;
//   - box13 repeats the tests of the boxes that another version of systemd or Slurm could break;
//   - emulated repeats TestAttackerJob, as only there all controllers of control groups exist;
//   - fuzz starts from the stored inputs, which other stages run as tests;
//   - machines repeats the dozen tests of its packages that need no machine: they take no time.
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
		// The stage lint has vet look at all packages, with all tags.
		in(after, goTest("unit", "what needs nothing but Go", "unit", unit...)),
		withCgo(in(after, goTest("nvml", "packages with C", "nvml", cgo...))),
	})
	// An emulated machine starves beside two busy lanes: everything else shares one, and what only computes is niced.
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
		// Last in the lane that is over first.
		niced(needsPackage(goTest("package-check", "lintian, rpm, modes, manual pages, completions, reproducibility", "emulated",
			"-tags", "packages", "./packaging/check/"))),
	})
	return map[string][]stage{groupTest: test, groupAll: all}, nil
}

// step is a stage that counts as one.
func step(name, what, lane string, argv ...string) stage {
	return stage{name: name, what: what, phase: boxes, lane: lane, argv: argv}
}

// goTest is a stage that runs go test, counts the tests and prints those that fail.
func goTest(name, what, lane string, args ...string) stage {
	argv := append(gotestsum(name), "--", "-count=1", "-vet=off", "-timeout", testLimit.String())
	s := step(name, what, lane, append(argv, args...)...)
	s.tests = true
	return s
}

// inBoxes are the stages among which the tests of the suite are dealt out.
func inBoxes() (list []stage) {
	for k := 1; k <= parts; k++ {
		list = append(list, inBox(fmt.Sprintf("box-%d", k), "what users see, in a container with a real systemd",
			"-part", fmt.Sprintf("%d/%d", k, parts), "-skip", withSlurm+"|"+hostile))
	}
	return list
}

// inBox is a stage that runs tests of the suite in a box of its own.
func inBox(name, what string, args ...string) stage {
	args = append([]string{"-tags", "machine", "./packaging/test/suite/", "-machine", "box"}, args...)
	return needsPackage(goTest(name, what, name, args...))
}

// raceFlags turn the race detector on, but for SQLite, which is C translated to Go that one goroutine at a time runs:
// the detector makes it twelve times as slow.
var raceFlags = []string{"-race", "-gcflags=modernc.org/...=-race=false"}

func in(phase int, s stage) stage {
	s.phase = phase
	return s
}

func niced(s stage) stage {
	s.nice = true
	return s
}

// withCgo turns cgo on for a stage that compiles C: the Makefile turns it off.
func withCgo(s stage) stage {
	s.argv = append([]string{"env", "CGO_ENABLED=1"}, s.argv...)
	return s
}

func needsPackage(s stage) stage {
	s.needs = []string{"package"}
	return s
}

// only is a pattern for the tests of these names.
func only(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

func gotestsum(stage string) []string {
	return []string{"go", "tool", "-modfile=packaging/tools/go.mod", "gotestsum", "--format=pkgname-and-test-fails",
		"--format-hide-empty-pkg", "--hide-summary=output", "--no-color", "--jsonfile=" + eventDir + "/" + stage + ".json"}
}
