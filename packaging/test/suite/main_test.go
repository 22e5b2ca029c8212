//go:build machine

package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

var (
	kind     = flag.String("machine", "box", "box or emulated")
	suite    = flag.String("suite", string(vm.Bookworm), "the Debian release of the machine")
	quick    = flag.Bool("quick", false, "run only quickTests, whose results another systemd could change")
	part     = flag.String("part", "", "run one part of the tests, such as 2/3, so that several machines can share them")
	slurm    = flag.String("slurm", "", "a directory with the .deb files of another Slurm release to test with")
	deb      = flag.String("deb", "", "the package to test (default: the newest in dist/)")
	gpus     = flag.String("gpus", gpusSimulated, "simulated, or real (this host's GPUs in a box, for TestRealGPU…)")
	cudaFile = flag.String("cuda", "", "with -gpus real: the program cudasum (default: built here, see cudasum_test.go)")
)

// All tests of a run share this machine.
var the *machine

// machine is a provisioned machine.
type machine struct {
	*vm.Machine
	deb string
	// slow is the factor by which this machine is slower than native execution.
	slow time.Duration

	// lastOutcome is the outcome of the last script. If a wait fails, its error quotes this
	// outcome.
	lastOutcome atomic.Pointer[string]
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// run boots the machine and runs the tests for that kind of machine. It cleans up even if it is
// interrupted.
func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := chooseTests(vm.Kind(*kind)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var err error
	if the, err = provision(ctx, vm.Kind(*kind)); err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		return 1
	}
	defer the.Close()
	defer closeSlurm()
	defer closeContainers()
	return m.Run()
}

// Possible values of -gpus.
const (
	gpusSimulated = "simulated"
	gpusReal      = "real"
)

const (
	// needsReal matches the tests that run only with -gpus real.
	needsReal = "^TestRealGPU"
	// needsEmulated matches the tests that only the emulated machine can run.
	needsEmulated = "^Test(Limits|Boot)"
	// needsBox matches the tests that boot their own box. What these tests check about Slurm,
	// TestLimitsSlurm checks on the emulated machine.
	needsBox = "^Test(SlurmEngine|Migrate|TwoBoxes|InContainer.*)$"
	// onBoth matches the tests that run both in the box and on the emulated machine. Their results
	// depend on the controllers of control groups, which only the emulated machine has.
	onBoth = "^TestAttackerJob$"
	// quickTests matches two kinds of tests. Another systemd could change the results of the first
	// kind: unit properties and results, the device filter across reloads, what survives while the
	// daemon is down, who can read the journal and a job's files, and the daemon's sandbox. Another
	// release of Slurm or of a container engine could change the results of the second kind.
	quickTests = "^Test(Conformance|Endings|Cancel|EachJobOpensItsOwnGPUs|FilterOutlivesReloads|RestartTouchesNoJob|" +
		"JobEndsWhileTheDaemonIsDown|BusRestart|OutputIsPrivate|NothingToRead|NoSecretInLogs|JobRunsAsItsSubmitter|" +
		"Environment|ArgumentsArriveByteForByte|LeftoversAreGone|AttackerUnits|AttackerStopping|SoftReboot|Sandbox|Isolate|DeviceFiles|SlurmEngine|Migrate|InContainer.*)$"
)

// chooseTests selects the tests for the kind of machine, whatever -run and -skip say. A fork bomb
// must not run in a box, where nothing limits it: it would use up the host's processes. Some other
// tests run only in a box.
func chooseTests(kind vm.Kind) error {
	run, skip := flag.Lookup("test.run").Value.String(), []string{needsReal}
	switch {
	case *gpus == gpusReal:
		return chooseReal(kind, run)
	case *gpus != gpusSimulated:
		return fmt.Errorf("-gpus %s: there are %s and %s", *gpus, gpusSimulated, gpusReal)
	case kind != vm.Emulated:
		skip = append(skip, needsEmulated)
	default:
		skip = append(skip, needsBox)
	}
	switch {
	case run != "":
	case kind == vm.Emulated:
		run = needsEmulated + "|" + onBoth
	case *quick:
		run = quickTests
	}
	if given := flag.Lookup("test.skip").Value.String(); given != "" {
		skip = append(skip, given)
	}
	without := strings.Join(skip, "|")
	if *part != "" {
		var err error
		if run, err = partOf(*part, run, without); err != nil {
			return fmt.Errorf("-part %s: %w", *part, err)
		}
	}
	return errors.Join(flag.Set("test.run", run), flag.Set("test.skip", without))
}

// partOf returns a pattern for the tests of one part, such as "2/3" for the second of three parts.
// The arguments run and skip are patterns: partOf takes the tests that match the first and do not
// match the second. It assigns these tests to the parts in turn, in the order of the files.
func partOf(part, run, skip string) (string, error) {
	var k, n int
	if _, err := fmt.Sscanf(part+"\n", "%d/%d\n", &k, &n); err != nil || k < 1 || n < k {
		return "", errors.New("not a part such as 1/3")
	}
	wanted, err := regexp.Compile(run)
	if err != nil {
		return "", err
	}
	unwanted, err := regexp.Compile(skip)
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		return "", err
	}
	var tests []string
	dealt := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" ||
				!wanted.MatchString(f.Name.Name) || unwanted.MatchString(f.Name.Name) {
				continue
			}
			if dealt%n == k-1 {
				tests = append(tests, f.Name.Name)
			}
			dealt++
		}
	}
	if len(tests) == 0 {
		return "", errors.New("it has no test")
	}
	return "^(" + strings.Join(tests, "|") + ")$", nil
}

// chooseReal selects the tests for a box with real GPUs.
func chooseReal(kind vm.Kind, run string) error {
	switch {
	case kind != vm.Box:
		return fmt.Errorf("-gpus %s: only a box can have the host's GPUs", gpusReal)
	case run == "":
		return flag.Set("test.run", needsReal)
	case strings.Contains(run, "|") || !strings.HasPrefix(strings.TrimPrefix(run, "^"), needsReal[1:]):
		return fmt.Errorf("-gpus %s: -run %s may choose others than TestRealGPU…, which need simulated GPUs", gpusReal, run)
	}
	return nil
}

// hasSlurm reports whether the machine of the run gets Slurm's packages, so that no second machine
// is needed. This helps on the emulated machine, where a boot takes minutes, and in a run of few
// tests. All other boxes are without Slurm, like most users' machines.
func hasSlurm(kind vm.Kind) bool { return kind == vm.Emulated || *quick }

// provision boots a machine and installs the package.
func provision(ctx context.Context, kind vm.Kind) (*machine, error) {
	pkg, err := newestDeb()
	if err != nil {
		return nil, err
	}
	out, more := &machine{deb: pkg, slow: 1}, []string(nil)
	switch {
	case kind == vm.Emulated: // another would take minutes to boot
		out.slow, more = 10, vm.AllPackages(vm.Suite(*suite))
	case hasSlurm(kind):
		more = vm.SlurmPackages()
	}
	out.Machine, err = boot(ctx, kind, pkg, more)
	return out, err
}

// boot boots a machine with four simulated GPUs. With -gpus real, the machine has the GPUs of the
// host instead. boot installs the package, and the given packages of the Debian release.
func boot(ctx context.Context, kind vm.Kind, pkg string, packages []string) (*vm.Machine, error) {
	dir, err := os.MkdirTemp("", "gpusched-suite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	opts := vm.Options{Suite: vm.Suite(*suite), Packages: packages, Log: os.Stderr, HostGPUs: *gpus == gpusReal}
	if opts.HostGPUs {
		return bootReal(ctx, opts, pkg, dir)
	}
	lib, err := fakenvml.Build(dir)
	if err != nil {
		return nil, err
	}
	sim, err := fakenvml.BuildSimCUDA(dir)
	if err != nil {
		return nil, err
	}
	cuda, err := fakenvml.BuildCUDA(dir)
	if err != nil {
		return nil, err
	}
	m, err := vm.Start(ctx, kind, opts)
	if err != nil {
		return nil, err
	}
	if err := vm.Provision(ctx, m, vm.ProvisionOptions{Deb: pkg, FakeLib: lib, SimCUDA: sim, FakeCUDA: cuda}); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// bootReal boots a box with the host's GPUs. It builds
// cudasum in dir, and installs cudasum and the package.
func bootReal(ctx context.Context, opts vm.Options, pkg, dir string) (*vm.Machine, error) {
	program, err := *cudaFile, error(nil)
	if program == "" {
		program, err = buildCudasum(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	m, err := vm.Start(ctx, vm.Box, opts)
	if err != nil {
		return nil, err
	}
	if err = m.CopyIn(ctx, program, cudasum, 0o755); err == nil {
		err = vm.Provision(ctx, m, vm.ProvisionOptions{Deb: pkg})
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// newestDeb returns the path of the newest package in dist, or of the package that -deb names.
func newestDeb() (string, error) {
	if *deb != "" {
		return filepath.Abs(*deb)
	}
	found, err := filepath.Glob("../../../dist/gpusched_*.deb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no package in dist/: run 'make package' first, or name one with -deb")
	}
	newest := found[0]
	for _, f := range found {
		a, errA := os.Stat(f)
		b, errB := os.Stat(newest)
		if errA == nil && errB == nil && a.ModTime().After(b.ModTime()) {
			newest = f
		}
	}
	return filepath.Abs(newest)
}

// sh runs a script as user ("" is root). If the exit status is not 0, the test fails.
func sh(t *testing.T, user, script string) string {
	t.Helper()
	r := try(t, user, script)
	if r.Code != 0 {
		t.Fatalf("%s: exit %d from %q\n%s%s", who(user), r.Code, script, r.Stdout, r.Stderr)
	}
	return strings.TrimRight(r.Stdout, "\n")
}

// try runs a script and returns its outcome.
func try(t *testing.T, user, script string) vm.Result {
	t.Helper()
	return tryFor(t, user, script, 2*time.Minute)
}

// tryFor is like try, with a time limit.
func tryFor(t *testing.T, user, script string, limit time.Duration) vm.Result {
	t.Helper()
	return scriptOn(t, the.Machine, user, script, limit)
}

// scriptOn is like tryFor, but runs the script on the machine m.
func scriptOn(t *testing.T, m *vm.Machine, user, script string, limit time.Duration) vm.Result {
	t.Helper()
	ctx, stop := await.For(context.WithoutCancel(t.Context()), "the end of a script of "+who(user)+"'s", limit*max(1, the.slow/2))
	defer stop()
	r, err := m.Sh(ctx, user, script)
	if err != nil {
		t.Fatalf("%s: %q: %v\n%s", who(user), script, err, await.Tail(r.Stdout+r.Stderr, 20))
	}
	seen := fmt.Sprintf("%q of %s exits %d: %s", script, who(user), r.Code, await.Tail(r.Stdout+r.Stderr, 20))
	the.lastOutcome.Store(&seen)
	return r
}

// awaitJournal waits until the journal contains everything that was written before the call. After
// a job that prints as fast as it can, journald is minutes behind on a busy machine.
func awaitJournal(t *testing.T) {
	t.Helper()
	if r := tryFor(t, "", "journalctl --sync", 8*time.Minute); r.Code != 0 {
		t.Fatalf("journalctl --sync: %s%s", r.Stdout, r.Stderr)
	}
}

func who(user string) string {
	if user == "" {
		return "root"
	}
	return user
}
