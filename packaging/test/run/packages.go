package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// packageWithoutRaces is a package whose tests run independent simulated worlds in parallel.
// Nothing else in that package starts a goroutine.
const packageWithoutRaces = "./daemon/dst"

// This list contains expensive tests that start no goroutine themselves, although their packages
// have goroutines. The tests read the sources, parse lines, build a program (without the detector),
// look at pages in a browser, or use the simulated Slurm, which starts a program for each command.
// Under the race detector they take ten times as long, so only stages without it run them.
var alone = []string{
	"TestWeededPhrases", "TestHouseRules", "TestNamedTestsExist", "TestNoCgo", "TestImportTable", "TestTheClientStartsFast",
	"TestEverySentenceIsListed", "TestExamplesRun",
	"FuzzCommandLine",
	"TestTourCommandsParse", "TestExamplesParse", "TestLinesAreShort", "TestAssignmentsAreShort",
	"TestBrowser", "TestBrowserScreens",
	"TestEnginesAnswerAlike", "TestAJobMovesOnlyWithItsDependents", "TestRefusedJobsWait", "TestJobsWaitHereWhileSlurmIsAway",
	"TestAJobThatSlurmMayHaveIsHeld", "TestTheNextRunSubmitsWhatIsNotInSlurm",
}

// goScripts are the scripts of cmd/gpusched/client whose commands start goroutines. The race stage
// runs only these scripts: under the detector, each start of a program takes ten times as long.
var goScripts = []string{
	"doctor", "events", "hosts_dies", "logs", "run", "submit_file", "submit_log", "terminal", "top", "wait",
}

// scriptsDir is the directory of the scripts of cmd/gpusched/client.
const scriptsDir = "cmd/gpusched/client/testdata/script"

// withoutRace returns a pattern for the option -skip. The pattern matches tests of packages with
// goroutines that the race stage does not run.
func withoutRace(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, scriptsDir, "*.txt"))
	if err != nil {
		return "", err
	}
	var scripts []string
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); !slices.Contains(goScripts, name) {
			scripts = append(scripts, name)
		}
	}
	return testPattern(alone) + "|^TestScripts$/" + testPattern(scripts), nil
}

// A pkg is a package of the module together with its tests.
type pkg struct {
	path string // path as 'go test' takes it
	race bool   // is part of the programs, and starts goroutines or needs cgo, which the race detector needs too
	cgo  bool   // imports NVIDIA's C library, or our package that wraps it
}

// goroutine matches code that starts a goroutine: a go statement, WaitGroup.Go or a parallel test.
var goroutine = regexp.MustCompile(`(?m)^\s*go |\.(Go|Parallel)\(`)

// files is a template for 'go list' that prints the source files of a package.
const files = `{{join .GoFiles " "}} {{join .CgoFiles " "}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}`

// listPackages lists the packages of the module at root.
func listPackages(root string) (list []pkg, err error) {
	out, err := await.Output(context.Background(), 5*time.Minute, []string{"go", "list", "-f",
		`{{.ImportPath}} {{.Module.Path}} {{.Dir}} ,{{join .Imports ","}},{{join .TestImports ","}} ` + files, "./..."},
		func(cmd *exec.Cmd) { cmd.Dir, cmd.Env = root, append(cmd.Environ(), "CGO_ENABLED=1") })
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		p := pkg{path: "." + strings.TrimPrefix(words[0], words[1])}
		p.cgo = strings.Contains(words[3], "/go-nvml/") || strings.Contains(words[3], "/gpusched/gpu/nvml")
		p.race = p.cgo
		for _, name := range words[4:] {
			code, err := os.ReadFile(filepath.Join(words[2], name))
			if err != nil {
				return nil, err
			}
			p.race = p.race || goroutine.Match(code)
		}
		if p.path == packageWithoutRaces || strings.HasPrefix(p.path, "./packaging/") || strings.HasPrefix(p.path, "./contrib/") {
			p.race = false
		}
		list = append(list, p)
	}
	return list, nil
}

// paths returns the paths of the chosen packages.
func paths(list []pkg, chosen func(pkg) bool) (paths []string) {
	for _, p := range list {
		if chosen(p) {
			paths = append(paths, p.path)
		}
	}
	return paths
}
