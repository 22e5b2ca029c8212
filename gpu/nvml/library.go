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

// Options of Open; the zero value is what a machine with GPUs wants.
type Options struct {
	Path          string           // of the library; "": libnvidia-ml.so.1 as the linker finds it
	ProcRoot      string           // "": /proc
	SysRoot       string           // "": /sys
	Below         string           // control group of the user's own systemd whose units jobs are; "": the machine's
	DeviceTimeout time.Duration    // how long one GPU may take; 0: 4 s
	RenewEvery    time.Duration    // how often to initialise again while a GPU is not well; 0: 1 min
	TopologyEvery time.Duration    // how often to ask again how the GPUs are connected; 0: 5 min
	Now           func() time.Time // nil: time.Now
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

// Library reads GPUs. It is for one goroutine; open one per process at most
// (invariant 3).
type Library struct {
	opts Options
	nv   nvml.Interface

	held         *dl.DynamicLibrary // our own hold on the library, so that go-nvml never unmaps it; nil: not loaded
	has          symbols
	ready        bool      // initialised
	since        time.Time // the last initialisation
	needsRestart bool

	driver, version, cuda string

	slots    []*slot // by NVML index
	topology topology
}

// Open prepares to read. It never fails and loads nothing: what is wrong, if
// anything, is the Problem of each Snapshot.
func Open(o Options) *Library {
	o = o.withDefaults()
	return &Library{opts: o, nv: nvml.New(nvml.WithLibraryPath(o.Path))}
}

// NeedsRestart says that a loaded library refused to work. A fresh process may do
// better: the file may be another one by now.
func (l *Library) NeedsRestart() bool {
	return l.needsRestart
}

// Close ends the use of the driver. A GPU that hangs is left alone.
func (l *Library) Close() {
	l.drop()
}

// Symbols says which functions that we need the library has, or why it cannot
// be loaded.
func (l *Library) Symbols() ([]Symbol, error) {
	if err := l.load(); err != nil {
		return nil, err
	}
	return l.has.list(), nil
}

// load maps the library and looks its functions up, once.
func (l *Library) load() error {
	if l.held != nil {
		return nil
	}
	held := dl.New(l.opts.Path, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
	if err := held.Open(); err != nil {
		return fmt.Errorf("loading the library: %w", err)
	}
	l.held, l.has = held, look(held.Lookup)
	return nil
}

// ensure brings the library to where it can be asked for devices.
func (l *Library) ensure() (gpu.Problem, error) {
	if l.ready {
		return gpu.ProblemNone, nil
	}
	if err := l.load(); err != nil {
		return gpu.ProblemLibraryMissing, err
	}
	if names := l.has.missing(); names != "" {
		l.needsRestart = true
		return gpu.ProblemUnsupported, errors.New("the library lacks " + names)
	}
	if ret := l.nv.Init(); ret != nvml.SUCCESS {
		l.needsRestart = true
		return problemOf(ret), fmt.Errorf("initialising: %s", l.words(ret))
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

// words says what the driver means by ret, with its number. Return.Error calls
// into the library.
func (l *Library) words(ret nvml.Return) string {
	if !l.has.any(needErrorString) {
		return fmt.Sprintf("NVML error %d", int(ret))
	}
	return fmt.Sprintf("%s (NVML error %d)", strings.TrimSpace(ret.Error()), int(ret))
}

// drop gives the initialisation up, so that the next Snapshot makes a new one.
// Shutting down under a call that hangs is asking for more trouble.
func (l *Library) drop() {
	if !l.ready || l.stuck() {
		return
	}
	l.nv.Shutdown()
	l.ready = false
}
