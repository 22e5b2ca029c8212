package nvml

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpusched/gpusched/gpu"
)

// Options configure Open. The zero value is right for a machine with GPUs.
type Options struct {
	Path          string           // path of the library, by default libnvidia-ml.so.1 as the linker finds it
	ProcRoot      string           // default /proc
	SysRoot       string           // default /sys
	Below         string           // control group of the user's own systemd that runs the jobs, "" for the machine's
	DeviceTimeout time.Duration    // time limit for one GPU, default 4 s
	RenewEvery    time.Duration    // interval between initialisations while a GPU is not well, default 1 min
	TopologyEvery time.Duration    // interval between surveys of the connections, default 5 min
	Now           func() time.Time // default time.Now
}

func (o Options) withDefaults() Options {
	o.Path = cmp.Or(o.Path, "libnvidia-ml.so.1")
	o.ProcRoot = cmp.Or(o.ProcRoot, "/proc")
	o.SysRoot = cmp.Or(o.SysRoot, "/sys")
	o.DeviceTimeout = cmp.Or(o.DeviceTimeout, 4*time.Second)
	o.RenewEvery = cmp.Or(o.RenewEvery, time.Minute)
	o.TopologyEvery = cmp.Or(o.TopologyEvery, 5*time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A Library reads GPUs. Only one goroutine may use a Library, and a process must open only one
// Library (invariant 3).
type Library struct {
	opts Options
	nv   nvml.Interface

	held         *dl.DynamicLibrary // our own reference to the library, so that go-nvml never unmaps it; nil if not loaded
	has          symbols
	ready        bool      // initialised
	since        time.Time // the last initialisation
	needsRestart bool

	driver, version, cuda string

	slots    []*slot // by NVML index
	topology topology
}

// Open prepares reading. It never fails and loads nothing: each Snapshot reports what is wrong as
// its Problem.
func Open(o Options) *Library {
	o = o.withDefaults()
	return &Library{opts: o, nv: nvml.New(nvml.WithLibraryPath(o.Path))}
}

// NeedsRestart reports whether a loaded library refused to work. A new process may succeed, because
// the library's file may have been replaced.
func (l *Library) NeedsRestart() bool {
	return l.needsRestart
}

// Close shuts the library down. It does not wait for GPUs that hang.
func (l *Library) Close() {
	l.drop()
}

// Symbols reports, for each function that we use, whether the library has it. The error says why
// the library cannot be loaded.
func (l *Library) Symbols() ([]Symbol, error) {
	if err := l.load(); err != nil {
		return nil, err
	}
	return l.has.list(), nil
}

// load maps the library and looks up its functions, once.
func (l *Library) load() error {
	if l.held != nil {
		return nil
	}
	held := dl.New(l.opts.Path, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
	if err := held.Open(); err != nil {
		return fmt.Errorf("loading the library: %w", err)
	}
	l.held, l.has = held, findSymbols(held.Lookup)
	return nil
}

// ensure loads and initialises the library if necessary.
func (l *Library) ensure() (gpu.Problem, error) {
	if l.ready {
		return gpu.ProblemNone, nil
	}
	if err := l.load(); err != nil {
		return gpu.ProblemLibraryMissing, err
	}
	if names := l.has.missingNames(); names != "" {
		l.needsRestart = true
		return gpu.ProblemUnsupported, errors.New("the library lacks " + names)
	}
	if ret := l.nv.Init(); ret != nvml.SUCCESS {
		l.needsRestart = true
		return problemOf(ret), fmt.Errorf("initialising: %s", l.errorText(ret))
	}
	l.ready, l.since, l.needsRestart = true, l.opts.Now(), false
	l.readVersions()
	return gpu.ProblemNone, nil
}

func problemOf(ret nvml.Return) gpu.Problem {
	switch ret {
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return gpu.ProblemDriverMissing
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return gpu.ProblemLibraryMissing
	default:
		return gpu.ProblemInitFailed
	}
}

func (l *Library) readVersions() {
	l.driver, l.version, l.cuda = "", "", ""
	if l.has.any(needDriver) {
		if v, ret := l.nv.SystemGetDriverVersion(); ret == nvml.SUCCESS {
			l.driver = v
		}
	}
	if l.has.any(needVersion) {
		if v, ret := l.nv.SystemGetNVMLVersion(); ret == nvml.SUCCESS {
			l.version = v
		}
	}
	if l.has.any(needCUDA) {
		if v, ret := l.nv.SystemGetCudaDriverVersion_v2(); ret == nvml.SUCCESS {
			l.cuda = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
		}
	}
}

// errorText describes ret in the driver's words, with its number. (Return.Error calls into the
// library.)
func (l *Library) errorText(ret nvml.Return) string {
	if !l.has.any(needErrorString) {
		return fmt.Sprintf("NVML error %d", int(ret))
	}
	return fmt.Sprintf("%s (NVML error %d)", strings.TrimSpace(ret.Error()), int(ret))
}

// drop shuts the library down, so that the next Snapshot initialises it again. It does nothing
// while a call hangs, because a shutdown could hang as well.
func (l *Library) drop() {
	if !l.ready || l.busy() {
		return
	}
	l.nv.Shutdown()
	l.ready = false
}
