package daemon_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// ofClient has the modules that the command line links, with the use of each.
var ofClient = map[string]string{
	"github.com/alecthomas/kong":      "the command line",
	"github.com/fsnotify/fsnotify":    "'watch' hears of changes of a file",
	"github.com/pelletier/go-toml/v2": "'config check' reads settings as the daemon does",
	"go.yaml.in/yaml/v3":              "'import' reads the settings of a scheduler that has them in YAML",
	"golang.org/x/sys":                "system calls",
	"golang.org/x/term":               "whether there is a terminal, how wide, and its raw mode",
}

// allowedModules lists, for each program, the modules of other projects that it may link, with the
// use of each. A module that only another module needs is listed with that module's name.
var allowedModules = map[string]map[string]string{
	"cmd/gpusched": ofClient, "cmd/gpusched-slurm": ofClient,
	"cmd/gpuschedd": {
		"github.com/containerd/cgroups/v3":       "reads what control groups used",
		"github.com/cilium/ebpf":                 "of cgroups; never called",
		"github.com/containerd/log":              "of cgroups",
		"github.com/opencontainers/runtime-spec": "of cgroups: types",
		"github.com/sirupsen/logrus":             "of cgroups",
		"golang.org/x/exp":                       "of ebpf",
		"google.golang.org/protobuf":             "of cgroups: its statistics are messages",
		"github.com/coreos/go-systemd/v22":       "activation, notification",
		"github.com/godbus/dbus/v5":              "talks to systemd",
		"github.com/pelletier/go-toml/v2":        "the settings",
		"golang.org/x/sys":                       "system calls",
		"modernc.org/sqlite":                     "the state file",
		"modernc.org/libc":                       "of sqlite", "modernc.org/mathutil": "of sqlite", "modernc.org/memory": "of sqlite",
		"github.com/dustin/go-humanize": "of sqlite", "github.com/google/uuid": "of sqlite", "github.com/remyoudompheng/bigfft": "of sqlite",
	},
	"cmd/gpusched-job": {
		"golang.org/x/sys":      "system calls, before each job's first instruction",
		"github.com/creack/pty": "opens and sizes the terminal of a job that has one",
	},
	"cmd/gpusched-accounts": {},
	"cmd/gpusched-metrics":  {"golang.org/x/net": "bounds its connections"},
	"cmd/gpusched-mcp": {
		"github.com/modelcontextprotocol/go-sdk": "the protocol that agents speak, by those who keep it",
		"github.com/google/jsonschema-go":        "of go-sdk: what a tool takes",
		"github.com/segmentio/asm":               "of go-sdk",
		"github.com/segmentio/encoding":          "of go-sdk: JSON that is read strictly",
		"github.com/yosida95/uritemplate/v3":     "of go-sdk; never called",
		"golang.org/x/oauth2":                    "of go-sdk; never called: it speaks over standard input",
		"golang.org/x/sync":                      "of go-sdk",
		"golang.org/x/sys":                       "of segmentio/asm: what the processor can do",
		"golang.org/x/time":                      "of go-sdk; never called",
	},
	"cmd/gpusched-top": {
		"charm.land/bubbletea/v2":               "the whole screen: reads keys, draws what changed, gives the terminal back",
		"github.com/charmbracelet/colorprofile": "of bubbletea: which colours a terminal has, told and not looked for",
		"github.com/charmbracelet/ultraviolet":  "of bubbletea: cells",
		"github.com/charmbracelet/x/ansi":       "of bubbletea: escape sequences",
		"github.com/charmbracelet/x/term":       "of bubbletea: raw mode",
		"github.com/charmbracelet/x/termios":    "of bubbletea",
		"github.com/charmbracelet/x/windows":    "of bubbletea; empty here",
		"github.com/clipperhouse/displaywidth":  "of ansi: the width of characters",
		"github.com/clipperhouse/stringish":     "of displaywidth: types",
		"github.com/clipperhouse/uax29/v2":      "of displaywidth: where characters end",
		"github.com/lucasb-eyer/go-colorful":    "of bubbletea: colours",
		"github.com/mattn/go-runewidth":         "of ansi: the width of characters",
		"github.com/muesli/cancelreader":        "of bubbletea: reading of keys that can be ended",
		"github.com/rivo/uniseg":                "of bubbletea: where characters end",
		"github.com/xo/terminfo":                "of colorprofile; never called",
		"golang.org/x/sync":                     "of bubbletea",
		"github.com/creack/pty":                 "gpusched prints into a terminal of its own, as for people",
		"golang.org/x/sys":                      "system calls",
		"golang.org/x/term":                     "whether there is a terminal",
	},
	"cmd/gpusched-web": {
		"golang.org/x/net":  "bounds its connections",
		"golang.org/x/sys":  "of x/term",
		"golang.org/x/term": "of cmd/gpusched/term, where text is cleaned and durations are written as in the command line",
	},
	"cmd/gpusched-nvml": {"github.com/NVIDIA/go-nvml": "the driver's library"},
}

// TestModules: no program links a module of another project by accident.
func TestModules(t *testing.T) {
	for program, why := range allowedModules {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./"+program)
		cmd.Dir = ".."
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(string(out))
		slices.Sort(got)
		want := slices.Sorted(maps.Keys(why))
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s is linked with\n%q, not with\n%q: say here what a new one is for", program, got, want)
		}
	}
}

// TestModulesAreUsed: some file imports each module that go.mod requires directly.
// 'go mod tidy' would check the same, but it downloads modules.
func TestModulesAreUsed(t *testing.T) {
	run := func(args ...string) []byte {
		cmd := exec.Command("go", args...)
		cmd.Dir = ".."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %q: %v", args, err)
		}
		return out
	}
	imports := strings.Fields(string(run("list", "-tags", "machine,packages,realgpu",
		"-f", `{{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")))
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(run("mod", "edit", "-json"), &mod); err != nil || len(mod.Require) == 0 {
		t.Fatal(err)
	}
	for _, m := range mod.Require {
		if !m.Indirect && !slices.ContainsFunc(imports, func(i string) bool { return i == m.Path || strings.HasPrefix(i, m.Path+"/") }) {
			t.Errorf("go.mod asks for %s, and no file imports it", m.Path)
		}
	}
}

// executors are the packages in the daemon that are able to start a program. The daemon runs as
// root. Only gpu/source starts a program. godbus can start a session bus if there is none, but the
// daemon uses the system bus. libc has C's system and popen, but SQLite calls neither.
var executors = []string{"github.com/godbus/dbus/v5", "github.com/gpusched/gpusched/gpu/source", "modernc.org/libc"}

// holders are the packages in the launcher that are able to start a program. They run as the job's
// user. They start the command of a job that has a terminal, and the commands that the owner of a
// job runs in its unit.
var holders = []string{"github.com/creack/pty", "github.com/gpusched/gpusched/units/terminal/hold"}

// TestRootStartsOneProgram: in the code that runs as root, only gpu/source starts a program. That
// program, gpusched-nvml, starts no other. The unit of the daemon also enforces this, by
// InaccessiblePaths.
func TestRootStartsOneProgram(t *testing.T) {
	for program, want := range map[string][]string{"cmd/gpuschedd": executors, "cmd/gpusched-nvml": nil, "cmd/gpusched-job": holders} {
		var got []string
		for _, p := range list(t, "-deps", "./"+program) {
			if slices.Contains(p.Imports, "os/exec") || slices.Contains(p.Imports, "plugin") {
				got = append(got, p.ImportPath)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s can start programs from %q, not from %q", program, got, want)
		}
	}
}
