package config

import (
	"log/slog"
	"time"
)

// Where the daemon's settings are.
const (
	MainFile  = "/etc/gpusched/gpusched.toml"
	DropInDir = "/etc/gpusched/conf.d"
)

// Config is every setting of the site. The zero value is not valid: start
// from Default.
type Config struct {
	Jobs   Jobs
	GPUs   GPUs
	Daemon Daemon
}

// Jobs is what jobs get without asking, and the most they may ask.
type Jobs struct {
	DefaultMem          DefaultMem    // host memory of a job that asks none
	DefaultTime         time.Duration // time limit of a job that asks none; 0: MaxTime
	MaxTime             time.Duration // the longest time limit; 0: no bound
	DefaultGrace        time.Duration // between SIGTERM and SIGKILL for a job that asks none
	MaxGrace            time.Duration // the longest grace that may be asked
	TasksMax            int           // processes and threads of one job
	MaxRunning          int           // jobs running at once
	MaxQueued           int           // jobs waiting at once
	MaxQueuedPerUser    int           // the same for one user
	Requeue             bool          // whether a job that asks nothing starts again after a reboot took it
	AllowRaisedPriority bool          // whether users may go above priority normal
}

// GPUs is how GPUs are watched, shared out and checked.
type GPUs struct {
	SampleInterval  time.Duration // between two looks at the GPUs while nothing happens
	SampleTimeout   time.Duration // a look that takes longer makes the GPUs unknown
	Only            []int         // physical indexes gpusched may use, ascending; empty: all
	ExtraDevices    []string      // absolute paths under /dev that jobs with a GPU may open besides it
	DeviceFilter    FilterMode
	CleaningTimeout time.Duration // from cleaning to suspect after a job
	MemorySlack     int64         // bytes that may stay used on a GPU that counts as clean
	NVMLLibrary     string        // absolute path of libnvidia-ml.so.1; "": the system's
}

// Daemon is the daemon itself.
type Daemon struct {
	LogLevel       slog.Level
	StartsInFlight int    // units being started at once
	AdminGroup     string // members may act on all jobs and on GPUs
	HostMemReserve Share  // host memory that is never promised to jobs
}

// FilterMode says what happens where the kernel's device filter is not active.
type FilterMode string

// The filter modes.
const (
	FilterRequire FilterMode = "require" // a job with a GPU fails rather than run without the filter
	FilterPrefer  FilterMode = "prefer"  // it runs, and the daemon is reported as degraded
)

// Default returns the settings of a site without any file.
func Default() Config {
	return Config{
		Jobs: Jobs{
			DefaultMem:       DefaultMem{Kind: MemAuto},
			DefaultGrace:     30 * time.Second,
			MaxGrace:         10 * time.Minute,
			TasksMax:         16384,
			MaxRunning:       1000,
			MaxQueued:        100_000,
			MaxQueuedPerUser: 20_000,
			Requeue:          true,
		},
		GPUs: GPUs{
			SampleInterval:  5 * time.Second,
			SampleTimeout:   10 * time.Second,
			ExtraDevices:    []string{"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"},
			DeviceFilter:    FilterRequire,
			CleaningTimeout: 30 * time.Second,
			MemorySlack:     512 << 20,
		},
		Daemon: Daemon{
			LogLevel:       slog.LevelInfo,
			StartsInFlight: 8,
			AdminGroup:     "gpusched-admin",
			HostMemReserve: Share{Percent: 5},
		},
	}
}
