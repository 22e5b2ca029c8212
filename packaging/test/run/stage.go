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
	lane  string   // stages of one lane run one by one, lanes of a phase at the same time
	needs []string // stages that must have passed
	nice  bool     // runs at a lower priority than the test machines
	tests bool     // argv runs gotestsum, so tests are counted
	far   bool     // asks another machine; exits with statusUnreachable if that is unreachable
}

// Groups of stages, each named after its make target.
const (
	groupTest = "test"     // make test
	groupAll  = "test-all" // make test-all
)

// These are the phases of a run, in order. The tests of the last phase have time limits, which they
// would exceed while four boxes run.
const (
	building = iota
	packing
	boxes
	after
	phases
)

// eventDir is the directory for the test events of each stage.
const eventDir = ".out/test"

// parts is the number of boxes among which the tests of the suite are divided.
const parts = 4

// withSlurm matches the tests that share a box in which a
// real Slurm and programs that use Slurm are installed.
const withSlurm = "^Test(SlurmEngine|Migrate|Snakemake)$"

// withContainers matches the tests that share a box with container engines.
const withContainers = "^TestInContainer"

// This pattern matches the tests of attacks, and the tests that kill processes at random moments.
// Together they take a fifth of the suite's time.
const hostile = "^Test(Attacker|Chaos$|Crashes$|Kills$|ParkKills$)"

// This table lists packages whose tests compute for a long time. These tests have no time limits
// that they would exceed while four boxes run.
var computing = []string{"./daemon/core", "./daemon/dst", "./daemon/sched", "./daemon/sim"}

// stages returns the stages of each group. The argument root is the directory of the repository.
// The stages that build and pack are in both groups.
//
// Five stages of test-all run tests that other stages run too, each for a reason:
//   - race runs the tests of packages with goroutines under the race detector. With an empty cache
//     this would add ten minutes to make test;
//   - box13 runs those tests of the boxes whose results another systemd or Slurm could change;
//   - emulated runs TestAttackerJob, because only the emulated machine has all control group
//     controllers;
//   - fuzz starts from the stored inputs, which other stages run as tests;
//   - the stage "machines" runs whole packages. A dozen of their tests need no machine, and the
//     stage "unit" runs these too. They take no time.
func stages(root string) (map[string][]stage, error) {
	list, err := listPackages(root)
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
		inBox("box-containers", "jobs in containers", "-run", withContainers),
		niced(step("lint", "gofmt, go vet, shell syntax", "lint", "sh", "packaging/lint.sh", "vet")),
		niced(step("modules", "the code of all modules is what go.sum says", "lint", "make", "modules")),
		niced(goTest("compute", "packages that only compute", "compute", computing...)),
		// The lint stage runs vet on all packages with all tags, so this stage does not.
		in(after, goTest("unit", "what needs nothing but Go", "unit", unit...)),
		withCgo(in(after, goTest("nvml", "packages with C", "nvml", cgo...))),
	})
	// An emulated machine becomes too slow while two other lanes are busy. All other stages
	// therefore share one lane, and stages that only compute run at a lower priority.
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
		// This stage comes last in its lane, because its lane ends before the others.
		niced(needsPackage(goTest("package-check", "lintian, rpm, modes, manual pages, completions, reproducibility", "emulated",
			"-tags", "packages", "./packaging/check/"))),
	})
	return map[string][]stage{groupTest: test, groupAll: all}, nil
}

// step returns a stage that the summary counts as a single test.
func step(name, what, lane string, argv ...string) stage {
	return stage{name: name, what: what, phase: boxes, lane: lane, argv: argv}
}

// goTest returns a stage that runs 'go test', counts the tests and prints failures.
func goTest(name, what, lane string, args ...string) stage {
	argv := append(gotestsum(name), "--", "-count=1", "-vet=off", "-timeout", testLimit.String())
	s := step(name, what, lane, append(argv, args...)...)
	s.tests = true
	return s
}

// inBoxes returns the stages among which the tests of the suite are divided.
func inBoxes() (list []stage) {
	for k := 1; k <= parts; k++ {
		list = append(list, inBox(fmt.Sprintf("box-%d", k), "what users see, in a container with a real systemd",
			"-part", fmt.Sprintf("%d/%d", k, parts), "-skip", strings.Join([]string{withSlurm, withContainers, hostile}, "|")))
	}
	return list
}

// inBox returns a stage that boots a box and runs tests of the suite in it.
func inBox(name, what string, args ...string) stage {
	args = append([]string{"-tags", "machine", "./packaging/test/suite/", "-machine", "box"}, args...)
	return needsPackage(goTest(name, what, name, args...))
}

// raceFlags turn the race detector on, but not for SQLite. SQLite is C code that was translated to
// Go, and only one goroutine at a time runs it. The detector would make SQLite twelve times as
// slow.
var raceFlags = []string{"-race", "-gcflags=modernc.org/...=-race=false"}

func in(phase int, s stage) stage {
	s.phase = phase
	return s
}

func niced(s stage) stage {
	s.nice = true
	return s
}

// withCgo turns cgo on for a stage that compiles C. The Makefile turns cgo off.
func withCgo(s stage) stage {
	s.argv = append([]string{"env", "CGO_ENABLED=1"}, s.argv...)
	return s
}

func needsPackage(s stage) stage {
	s.needs = []string{"package"}
	return s
}

// testPattern returns a pattern that matches exactly the tests with these names.
func testPattern(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

func gotestsum(stage string) []string {
	return []string{"go", "tool", "-modfile=packaging/tools/go.mod", "gotestsum", "--format=pkgname-and-test-fails",
		"--format-hide-empty-pkg", "--hide-summary=output", "--no-color", "--jsonfile=" + eventDir + "/" + stage + ".json"}
}
