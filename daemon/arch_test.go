package daemon_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gpusched/gpusched/"

// importRule lists the imports that a package may have, and the imports that it must not have, with
// the reason.
type importRule struct {
	internal []string // allowed packages of this module, without the module's path
	external []string // prefixes of allowed modules of other projects
	banned   []string // forbidden packages of the standard library
	why      string
}

var impure = []string{"time/tzdata", "os", "os/exec", "net", "net/http", "log/slog", "sync", "math/rand", "math/rand/v2", "context", "syscall"}

// impureButSync has all entries of the list impure except "sync". It is for packages that
// initialize something once, on first use.
var impureButSync = slices.DeleteFunc(slices.Clone(impure), func(p string) bool { return p == "sync" })

// rooms is the table of allowed imports. Every package must be in it.
var rooms = map[string]importRule{
	"daemon/job":               {internal: []string{"units/contract"}, banned: []string{"os", "os/exec", "net", "log/slog", "sync", "context"}, why: "values are pure; contract has the words of launch failures; syscall serves for the names of error numbers"},
	"daemon/predict":           {internal: []string{"daemon/job"}, banned: impure, why: "it learns from runs that others tell it of"},
	"daemon/sched":             {internal: []string{"daemon/job", "daemon/predict", "daemon/sched/links", "gpu"}, banned: impure, why: "placement is pure; time is a value"},
	"daemon/sched/links":       {banned: impure, why: "it compares sets of GPUs, and knows no job"},
	"daemon/core":              {internal: []string{"daemon/core/accounts", "daemon/core/estimates", "daemon/core/foresight", "daemon/core/gpus", "daemon/core/outbox", "daemon/core/queue", "daemon/core/site", "daemon/core/starts", "daemon/core/tracked", "daemon/job", "daemon/sched", "units/retry", "units/contract"}, banned: impure, why: "the life cycle is pure; time comes as an argument"},
	"daemon/core/site":         {internal: []string{"daemon/job", "daemon/sched", "gpu"}, banned: impure, why: "values: what was decided, without who reads it"},
	"daemon/core/tracked":      {internal: []string{"daemon/job", "daemon/predict", "daemon/sched"}, banned: impure, why: "it lists and counts jobs, and decides nothing of them"},
	"daemon/core/gpus":         {internal: []string{"daemon/core/site", "daemon/core/tracked", "daemon/job", "daemon/sched", "gpu", "units/contract", "units/retry"}, banned: impure, why: "it says what it finds; the life cycle acts on it"},
	"daemon/core/outbox":       {internal: []string{"daemon/job", "units/retry"}, banned: impure, why: "whose turn it is; sending is the daemon's concern"},
	"daemon/core/queue":        {internal: []string{"daemon/core/accounts", "daemon/core/estimates", "daemon/core/foresight", "daemon/core/gpus", "daemon/core/site", "daemon/core/starts", "daemon/core/tracked", "daemon/job", "daemon/predict", "daemon/sched", "units/retry"}, banned: impure, why: "it plans; the life cycle carries out the plans"},
	"daemon/core/starts":       {internal: []string{"daemon/core/tracked", "daemon/job", "daemon/sched", "units/retry"}, banned: impure, why: "it counts how starts go, and starts nothing"},
	"daemon/core/accounts":     {internal: []string{"daemon/core/gpus", "daemon/core/site", "daemon/core/tracked", "daemon/job", "daemon/sched"}, banned: impure, why: "it charges for what jobs have; who has what is decided above"},
	"daemon/core/estimates":    {internal: []string{"daemon/core/site", "daemon/core/tracked", "daemon/job", "daemon/predict"}, banned: impure, why: "it learns from runs that others tell it of"},
	"daemon/core/foresight":    {internal: []string{"daemon/job", "daemon/predict", "daemon/sched"}, banned: impure, why: "it outlives the moment in which the core was asked, and knows nothing of it"},
	"daemon/metrics":           {internal: []string{"daemon/job", "gpu"}, banned: impureButSync, why: "figures and their text; loop, committer and server count at the same time"},
	"daemon/sim":               {internal: []string{"daemon/core", "daemon/core/site", "daemon/sched", "daemon/job", "daemon/words", "gpu"}, banned: slices.DeleteFunc(slices.Clone(impure), func(p string) bool { return p == "math/rand/v2" }), why: "a replay is the same everywhere: its clock and its chance are arguments"},
	"daemon/sim/cli":           {internal: []string{"daemon/job", "daemon/report/chart", "daemon/sim"}, banned: []string{"os/exec", "net", "context"}, why: "a command of its own that shares nothing with the daemon but the scheduler"},
	"daemon/words":             {internal: []string{"daemon/job", "units/contract"}, banned: slices.DeleteFunc(slices.Clone(impure), func(p string) bool { return p == "syscall" }), why: "sentences are text; syscall serves for the names of error numbers"},
	"daemon/report":            {internal: []string{"daemon/job"}, banned: impure, why: "sums of what it is given; time is a value"},
	"daemon/report/chart":      {banned: impure, why: "figures to text: three pages draw with it"},
	"daemon/store":             {internal: []string{"daemon/job"}, external: []string{"golang.org/x/sys/unix", "modernc.org/sqlite"}, banned: []string{"os/exec"}, why: "the store decides nothing"},
	"daemon/config":            {internal: []string{"daemon/job", "gpu", "units/contract"}, external: []string{"github.com/pelletier/go-toml/v2"}, banned: []string{"os/exec", "net"}},
	"daemon/api":               {internal: []string{"daemon/job", "daemon/words", "units/contract"}, banned: []string{"os/exec"}, why: "the CLI links it"},
	"daemon/server":            {internal: []string{"daemon/api", "daemon/job", "daemon/metrics", "daemon/words", "daemon/config", "daemon/report", "daemon/slots", "units/contract", "units/sandbox"}, external: []string{"golang.org/x/sys/unix"}, banned: []string{"os/exec"}, why: "it reaches the daemon through Backend alone"},
	"daemon/server/servertest": {internal: []string{"daemon/api", "daemon/events", "daemon/job", "daemon/metrics", "daemon/server"}},
	"daemon/subuid":            {banned: append(slices.Clone(impure), "time"), why: "it reads a text that both the daemon and the doctor have"},
	"daemon/supervise": {internal: []string{
		"cgroup", "daemon", "daemon/api", "daemon/config", "daemon/core", "daemon/core/site", "daemon/directory", "daemon/gres", "daemon/host", "daemon/job", "daemon/journal", "daemon/metrics", "daemon/sched", "daemon/server",
		"daemon/slots", "daemon/store", "daemon/words", "gpu", "gpu/driver", "gpu/kernellog", "gpu/source", "units/retry", "units", "units/contract", "units/launch", "units/systemd",
	}, banned: []string{"os/exec", "net/http"}, why: "it puts all parts together, and so imports them; none of them imports it"},
	"daemon/gres": {internal: []string{"daemon/config"}, banned: []string{"os/exec", "net", "log/slog", "context"}, why: "it reads what another scheduler was told, and asks nobody"},
	"daemon/host": {internal: []string{
		"cgroup", "cgroup/cpuset", "daemon/core", "daemon/job", "daemon/metrics", "daemon/subuid", "gpu", "gpu/kernellog", "units/contract", "units/systemd",
	}, banned: []string{"os/exec", "net"}, why: "it tells how the machine is, and decides nothing of jobs"},
	"daemon/directory":        {internal: []string{"daemon/job"}, banned: []string{"os", "os/exec", "os/user", "log/slog"}, why: "it asks and remembers; whom it asks may hang"},
	"daemon/directory/getent": {internal: []string{"daemon/directory"}, banned: []string{"os/user"}, why: "it starts getent(1): never linked into the daemon"},
	"cmd/gpusched-accounts":   {internal: []string{"daemon/directory/getent"}, why: "a main of nobody's; what it does is below"},
	"daemon/removal":          {internal: []string{"daemon/job", "units/retry"}, banned: []string{"os", "os/exec", "net"}, why: "it decides when; who removes anything is handed in"},
	"daemon/slots":            {banned: []string{"os", "os/exec", "net", "log/slog", "time"}, why: "it makes callers wait, and knows not for what"},
	"daemon/journal":          {banned: []string{"os/exec"}, why: "journald's protocol is a datagram; nothing of it waits for a library"},
	"daemon":                  {internal: []string{"daemon/core", "daemon/core/accounts", "daemon/core/foresight", "daemon/core/gpus", "daemon/core/site", "daemon/core/starts", "daemon/events", "daemon/health", "daemon/job", "daemon/metrics", "daemon/removal", "daemon/slots", "daemon/words", "gpu", "units/retry", "units", "units/launch", "cgroup", "cgroup/cpuset", "units/contract"}, banned: []string{"os/exec", "net/http"}, why: "store, driver and systemd come through its ports"},
	"daemon/health":           {internal: []string{"daemon/job", "daemon/words", "gpu"}, banned: impure, why: "it reads a view"},
	"daemon/events":           {internal: []string{"daemon/job", "gpu"}, banned: impure, why: "announcements are values; who waits for them is the daemon's concern"},
	"daemon/dst": {internal: []string{
		"daemon", "daemon/core", "daemon/core/site", "daemon/job", "daemon/sched", "daemon/store", "daemon/words", "gpu", "units", "units/contract", "units/launch", "units/unittest",
	}, banned: []string{"os/exec", "net", "math/rand"}, why: "a simulation: nothing in it depends on anything but its seed"},
	"gpu":                          {internal: []string{"cgroup/cpuset", "units/contract"}, banned: []string{"os/exec", "net"}, why: "facts about GPUs, without cgo"},
	"gpu/nvml":                     {internal: []string{"cgroup/cpuset", "gpu"}, external: []string{"github.com/NVIDIA/go-nvml"}, why: "the only importer of go-nvml"},
	"gpu/nvml/cuda":                {internal: []string{"gpu"}, banned: []string{"os/exec", "net"}, why: "it computes, and knows nothing of NVML"},
	"gpu/source":                   {internal: []string{"gpu", "units/retry"}, external: []string{"golang.org/x/sys/unix"}, why: "the one place of the root daemon that executes a program"},
	"gpu/driver":                   {internal: []string{"gpu"}, banned: []string{"os/exec", "net"}, why: "it reads two files and two links, and decides nothing"},
	"gpu/kernellog":                {internal: []string{"gpu"}, external: []string{"golang.org/x/sys/unix"}, banned: []string{"os/exec", "net"}, why: "it reads one file, and decides nothing"},
	"gpu/gputest":                  {internal: []string{"gpu"}, why: "the conformance suite and a source in memory"},
	"gpu/fakenvml":                 {internal: []string{"gpu", "packaging/test/await"}, why: "tests and the demo"},
	"cgroup":                       {internal: []string{"units/contract"}, external: []string{"github.com/containerd/cgroups/v3", "golang.org/x/sys/unix"}, banned: []string{"os/exec", "net"}},
	"cgroup/cpuset":                {banned: append(slices.Clone(impure), "time"), why: "numbers and their list; whoever needs one links nothing else"},
	"units":                        {internal: []string{"cgroup", "cgroup/cpuset", "units/contract"}, banned: []string{"os", "os/exec", "net", "sync", "context"}, why: "names, properties and decoding are pure"},
	"units/contract":               {banned: append(slices.Clone(impure), "time", "fmt", "strings"), why: "constants that both ends of a job's unit share: whoever needs one links nothing else"},
	"units/launch":                 {internal: []string{"units/contract"}, external: []string{"golang.org/x/sys/unix"}, banned: []string{"os/exec", "net", "encoding/json", "os/user"}, why: "it runs before every job's first instruction"},
	"units/retry":                  {banned: impure, why: "a formula that whoever tries again has, on every floor"},
	"units/sandbox":                {external: []string{"golang.org/x/sys/unix"}, banned: []string{"os/exec", "net", "os/user"}, why: "it reads /proc, for the daemon and for each job's launcher"},
	"units/systemd":                {internal: []string{"cgroup", "units/retry", "units"}, external: []string{"github.com/coreos/go-systemd/v22", "github.com/godbus/dbus/v5", "golang.org/x/sys/unix"}, banned: []string{"os/exec"}, why: "the only importer of go-systemd and godbus"},
	"units/terminal":               {external: []string{"golang.org/x/sys/unix"}, banned: []string{"os/exec", "net"}, why: "the command line and the holder link it; the launcher, which the holder is in, has no package net"},
	"units/terminal/hold":          {internal: []string{"units/contract", "units/sandbox", "units/terminal"}, external: []string{"github.com/creack/pty", "golang.org/x/sys/unix"}, banned: []string{"net"}, why: "it runs as the job's user and starts the commands of a terminal; every job's launcher carries it"},
	"units/unittest":               {internal: []string{"cgroup", "units", "units/contract"}},
	"cmd/gpusched/alias":           {internal: []string{"cmd/gpusched/slurm", "daemon/api", "daemon/job"}, banned: impure, why: "words to words, jobs to lines"},
	"cmd/gpusched":                 {internal: []string{"cmd/gpusched/client"}, why: "a main: it knows no Slurm"},
	"cmd/gpusched/engines":         {internal: []string{"cmd/gpusched/manual", "daemon/api", "daemon/config", "daemon/job"}, banned: []string{"os/exec", "net", "net/http"}, why: "what is asked of an engine, and nothing that asks"},
	"cmd/gpusched-slurm":           {internal: []string{"cmd/gpusched-slurm/export", "cmd/gpusched-slurm/migrate", "cmd/gpusched-slurm/onslurm", "cmd/gpusched/client", "cmd/gpusched/engines"}, why: "a main: it puts a Slurm behind the command line"},
	"cmd/gpusched-slurm/export":    {internal: []string{"cmd/gpusched-slurm/slurmsite", "cmd/gpusched/engines", "cmd/gpusched/remote", "cmd/gpusched/term", "daemon/api", "daemon/config", "daemon/directory", "daemon/directory/getent", "daemon/job"}, banned: []string{"net", "net/http"}, why: "it reads this machine and asks others by ssh, as the user"},
	"cmd/gpusched-slurm/migrate":   {internal: []string{"cmd/gpusched-slurm/onslurm", "cmd/gpusched/engines", "daemon/api", "daemon/job"}, external: []string{"golang.org/x/sys/unix"}, banned: []string{"os/exec", "net", "net/http"}, why: "from one queue into another; the programs are run by onslurm"},
	"cmd/gpusched/cli":             {internal: []string{"cmd/gpusched/engines", "cmd/gpusched/manual", "cmd/gpusched/remote", "cmd/gpusched/term", "cmd/progress", "daemon/api", "daemon/job", "daemon/words", "units/contract"}, external: []string{"github.com/pelletier/go-toml/v2"}, why: "what all commands share, and no command: every room stands on it"},
	"cmd/gpusched/parse":           {internal: []string{"cmd/gpusched/cli", "cmd/gpusched/manual", "daemon/api", "daemon/job"}, external: []string{"github.com/alecthomas/kong"}, banned: []string{"net", "net/http", "os/exec"}, why: "a grammar is given to it; it knows no command"},
	"cmd/gpusched/afar":            {internal: []string{"cmd/gpusched/cli", "cmd/gpusched/remote", "daemon/api", "daemon/job", "units/contract"}, why: "it has other machines answer; what they say is shown by others"},
	"cmd/gpusched/look":            {internal: []string{"cmd/gpusched/afar", "cmd/gpusched/cli", "cmd/gpusched/doctor/installation", "cmd/gpusched/gantt", "cmd/gpusched/manual", "cmd/gpusched/remote", "cmd/gpusched/term", "daemon/api", "daemon/job", "daemon/words", "units/contract"}, banned: []string{"net", "os/exec"}, why: "what is there now; it changes nothing"},
	"cmd/gpusched/past":            {internal: []string{"cmd/gpusched/afar", "cmd/gpusched/cli", "cmd/gpusched/manual", "cmd/gpusched/term", "daemon/api", "daemon/job", "daemon/report", "daemon/report/chart", "daemon/words"}, banned: []string{"net", "os/exec"}, why: "what was; it changes nothing"},
	"cmd/gpusched/logs":            {internal: []string{"cmd/gpusched/afar", "cmd/gpusched/cli", "cmd/gpusched/manual", "cmd/gpusched/remote", "cmd/gpusched/term", "daemon/api", "daemon/job", "units/contract"}, why: "what jobs printed"},
	"cmd/gpusched/act":             {internal: []string{"cmd/gpusched/afar", "cmd/gpusched/alias", "cmd/gpusched/cli", "cmd/gpusched/look", "cmd/gpusched/manual", "cmd/gpusched/term", "daemon/api", "daemon/job"}, why: "what is done to jobs and GPUs; it shows what became of them as look does"},
	"cmd/gpusched/attach":          {internal: []string{"cmd/gpusched/act", "cmd/gpusched/afar", "cmd/gpusched/cli", "cmd/gpusched/logs", "cmd/gpusched/remote", "cmd/gpusched/term", "daemon/api", "daemon/job", "units/contract", "units/terminal"}, external: []string{"golang.org/x/term"}, why: "who stays with a job acts on it and reads its log"},
	"cmd/gpusched/jobenv":          {internal: []string{"cmd/gpusched/cli", "cmd/gpusched/slurm", "daemon/api", "daemon/job", "units/contract"}, external: []string{"golang.org/x/sys/unix"}, banned: []string{"net", "net/http"}, why: "what lies around a job; of requests it knows nothing"},
	"cmd/gpusched/estimate":        {internal: []string{"cmd/gpusched/cli", "cmd/gpusched/jobenv", "cmd/gpusched/manual", "cmd/gpusched/term", "daemon/api", "daemon/job"}, external: []string{"github.com/pelletier/go-toml/v2"}, banned: []string{"net", "net/http", "os/exec"}, why: "it reads what is there of a model, and asks nobody"},
	"cmd/gpusched/submit":          {internal: []string{"cmd/gpusched/act", "cmd/gpusched/afar", "cmd/gpusched/alias", "cmd/gpusched/attach", "cmd/gpusched/cli", "cmd/gpusched/estimate", "cmd/gpusched/jobenv", "cmd/gpusched/logs", "cmd/gpusched/look", "cmd/gpusched/manual", "cmd/gpusched/parse", "cmd/gpusched/remote", "cmd/gpusched/slurm", "cmd/gpusched/term", "daemon/api", "daemon/job", "daemon/words", "units/contract"}, external: []string{"github.com/alecthomas/kong"}, why: "requests; who stays with the job attaches"},
	"cmd/gpusched/step":            {internal: []string{"cmd/gpusched/alias", "cmd/gpusched/cli", "cmd/gpusched/jobenv", "cmd/gpusched/logs", "cmd/gpusched/slurm", "daemon/api", "daemon/job"}, banned: []string{"net", "net/http"}, why: "processes of a job; it queues none"},
	"cmd/gpusched/editor":          {internal: []string{"cmd/gpusched/attach", "cmd/gpusched/cli", "cmd/gpusched/jobenv", "cmd/gpusched/manual", "cmd/gpusched/submit", "cmd/gpusched/term", "daemon/api", "daemon/job", "units/contract"}, external: []string{"golang.org/x/sys/unix"}, why: "it queues a job and enters it; the connections are sshd's, and it asks a notebook whether it is used"},
	"cmd/gpusched/site":            {internal: []string{"cmd/gpusched/afar", "cmd/gpusched/cli", "cmd/gpusched/engines", "cmd/gpusched/jobenv", "cmd/gpusched/manual", "cmd/gpusched/term", "daemon/api", "daemon/config", "daemon/directory", "daemon/directory/getent", "daemon/gres", "daemon/job", "daemon/metrics", "units/contract"}, why: "the installation; of jobs it knows nothing"},
	"cmd/gpusched/feed":            {internal: []string{"cmd/gpusched/act", "cmd/gpusched/cli", "cmd/gpusched/engines", "cmd/gpusched/estimate", "cmd/gpusched/jobenv", "cmd/gpusched/jobsfile", "cmd/gpusched/logs", "cmd/gpusched/oldconfig", "cmd/gpusched/parse", "cmd/gpusched/site", "cmd/gpusched/submit", "cmd/gpusched/term", "daemon/api", "daemon/config", "daemon/job", "daemon/words"}, external: []string{"github.com/alecthomas/kong", "github.com/fsnotify/fsnotify"}, why: "entries to submissions"},
	"cmd/gpusched/tools":           {internal: []string{"cmd/gpusched/alias", "cmd/gpusched/cli", "cmd/gpusched/engines", "cmd/gpusched/estimate", "cmd/gpusched/jobenv", "cmd/gpusched/oldconfig", "cmd/gpusched/slurm", "cmd/gpusched/step", "cmd/gpusched/submit", "cmd/gpusched/term", "daemon/api", "daemon/job"}, why: "other tools' words to ours, with what lies around the tool"},
	"cmd/gpusched/doctor":          {internal: []string{"cmd/gpusched/cli", "cmd/gpusched/doctor/bugreport", "cmd/gpusched/doctor/installation", "cmd/gpusched/doctor/trial", "cmd/gpusched/jobenv", "cmd/gpusched/logs", "cmd/gpusched/look", "cmd/gpusched/site", "cmd/gpusched/term", "daemon/api", "daemon/config", "daemon/job", "units/contract"}, external: []string{"golang.org/x/sys/unix"}, why: "it looks at everything, and changes nothing but by jobs of its own"},
	"cmd/gpusched/client":          {internal: []string{"cmd/gpusched/act", "cmd/gpusched/afar", "cmd/gpusched/alias", "cmd/gpusched/attach", "cmd/gpusched/cli", "cmd/gpusched/doctor", "cmd/gpusched/editor", "cmd/gpusched/engines", "cmd/gpusched/estimate", "cmd/gpusched/feed", "cmd/gpusched/jobenv", "cmd/gpusched/logs", "cmd/gpusched/look", "cmd/gpusched/manual", "cmd/gpusched/parse", "cmd/gpusched/past", "cmd/gpusched/remote", "cmd/gpusched/site", "cmd/gpusched/step", "cmd/gpusched/submit", "cmd/gpusched/term", "cmd/gpusched/tools", "daemon/api", "daemon/job"}, external: []string{"github.com/alecthomas/kong"}, why: "the top: the grammar has every command"},
	"cmd/gpusched/gantt":           {internal: []string{"cmd/gpusched/term", "daemon/api", "daemon/job"}, banned: []string{"os", "os/exec", "net", "net/http", "context"}, why: "a picture of a plan that others have asked for"},
	"cmd/gpusched/term":            {internal: []string{"daemon/words"}, external: []string{"golang.org/x/term"}, banned: []string{"os/exec", "net", "context"}, why: "text, times and tables; of the daemon it knows what a reader of its sentences is"},
	"cmd/gpusched/jobsfile":        {banned: impure, why: "a grammar: text to entries, without the file"},
	"cmd/gpusched/oldconfig":       {internal: []string{"cmd/gpusched/slurm", "daemon/job"}, external: []string{"go.yaml.in/yaml/v3"}, banned: impure, why: "text to text: what a site had, without its files"},
	"cmd/gpusched/remote":          {internal: []string{"cmd/gpusched/term", "daemon/api"}, why: "it starts ssh as the user; of jobs it knows nothing"},
	"cmd/gpusched-slurm/sbatch":    {internal: []string{"cmd/gpusched/slurm", "daemon/api", "daemon/job", "daemon/words", "units/contract"}, banned: impure, why: "a request to words and a script: what is said to a Slurm, without one"},
	"cmd/gpusched-slurm/onslurm":   {internal: []string{"cmd/gpusched/slurm", "cmd/gpusched-slurm/sbatch", "cmd/gpusched-slurm/slurmexec", "cmd/gpusched/engines", "cmd/gpusched/manual", "daemon/api", "daemon/job", "daemon/words", "units/contract"}, banned: []string{"os/exec", "net", "net/http"}, why: "it asks Slurm's programs, and reads what they print"},
	"cmd/gpusched-slurm/slurmexec": {internal: []string{"cmd/gpusched-slurm/sbatch", "cmd/gpusched/engines", "daemon/api", "daemon/job"}, banned: []string{"net", "net/http"}, why: "it runs Slurm's programs as the user"},
	"cmd/gpusched/slurm":           {internal: []string{"daemon/job", "units/contract"}, banned: impure, why: "words to words: what a script says, without the script"},
	"cmd/gpusched-slurm/slurmsite": {internal: []string{"cmd/gpusched/slurm", "cgroup/cpuset", "daemon/config", "daemon/job"}, banned: impureButSync, why: "a machine and its settings to the text of files, without the files"},
	"cmd/gpusched-job":             {internal: []string{"units/contract", "units/launch", "units/terminal/hold"}},
	"cmd/gpusched-notify":          {internal: []string{"units/contract"}, external: []string{"golang.org/x/sys/unix"}, why: "it runs as a user and speaks to the world; of jobs it knows nothing"},
	"cmd/gpusched-mcp":             {internal: []string{"cmd/gpusched/options", "daemon/api", "daemon/job", "daemon/words", "units/contract"}, external: []string{"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go"}, banned: []string{"net"}, why: "it asks the socket, and has gpusched act; it decides nothing"},
	"cmd/gpusched-top":             {internal: []string{"cmd/gpusched-top/screen", "cmd/gpusched/term", "daemon/api", "daemon/job", "units/contract"}, external: []string{"charm.land/bubbletea/v2", "github.com/charmbracelet/colorprofile", "github.com/creack/pty", "golang.org/x/sys/unix"}, why: "the one place of the terminal library; it asks the scheduler and runs gpusched"},
	"cmd/gpusched-top/screen":      {internal: []string{"cmd/gpusched/term", "daemon/api", "daemon/job", "daemon/words"}, banned: impure, why: "the screen is pure: its tests need no terminal, no scheduler and no clock"},
	"cmd/progress":                 {external: []string{"golang.org/x/sys/unix"}, banned: []string{"os/exec", "net", "context"}, why: "a line on a terminal; it knows nothing of what takes long"},
	"cmd/loopback":                 {banned: []string{"os/exec"}, why: "sockets and whose connection makes room; it knows nothing of what is served"},
	"cmd/gpusched-metrics":         {internal: []string{"cmd/loopback", "daemon/api", "daemon/metrics"}, external: []string{"golang.org/x/net/netutil"}, banned: []string{"os/exec"}, why: "it listens to the network, so it can do nothing but ask what every account may"},
	"cmd/gpusched-nvml":            {internal: []string{"gpu", "gpu/nvml", "gpu/nvml/cuda"}},
	"cmd/gpusched-web":             {internal: []string{"cmd/gpusched/term", "cmd/loopback", "daemon/api", "daemon/job", "daemon/report", "daemon/report/chart", "daemon/words"}, external: []string{"golang.org/x/net/netutil"}, banned: []string{"os/exec"}, why: "a client like any other, without rights; what it shows it asks of the socket"},
	"cmd/gpusched/doctor/installation": {internal: []string{
		"cmd/gpusched/term", "daemon/api", "daemon/config", "daemon/job", "daemon/subuid", "gpu/driver", "units/contract",
	}, external: []string{"golang.org/x/sys/unix"}, banned: []string{"os/exec"}, why: "it reads the host and asks the scheduler, and runs nothing"},
	"cmd/gpusched/doctor/bugreport": {
		banned: impureButSync, why: "text to text: what a bug report must not have",
	},
	"cmd/gpusched/doctor/trial": {
		internal: []string{"daemon/job", "gpu", "units/contract"}, external: []string{"golang.org/x/sys/unix"},
		why: "it looks around inside of a job, and runs gpusched-nvml there",
	},
	"cmd/gpusched/options": {banned: impureButSync, why: "what people and agents are told of an option is text"},
	"cmd/gpusched/manual": {
		internal: []string{"cmd/gpusched/options", "daemon/job"}, external: []string{"github.com/alecthomas/kong"},
		banned: impureButSync, why: "pages are text, made of the grammar and of tables",
	},
	"cmd/gpuschedd": {internal: []string{
		"cmd/progress", "daemon/config", "daemon/host", "daemon/journal", "daemon/sim/cli", "daemon/supervise", "units/systemd",
	}, banned: []string{"os/exec"}, why: "a main parses, wires and exits: it opens the socket and the log, and what runs is below"},
}

// The maximum number of lines in a package, without tests: widestOfCmd in packages of cmd, widest
// in all others. A person reads that much in an hour or two.
const (
	widest      = 6000
	widestOfCmd = 3500
)

// TestPackagesAreSmall: each package is short enough to read as a whole.
func TestPackagesAreSmall(t *testing.T) {
	for _, p := range list(t, "./...") {
		name, lines, most := strings.TrimPrefix(p.ImportPath, module), 0, widest
		if strings.HasPrefix(name, "cmd/") {
			most = widestOfCmd
		}
		for _, file := range slices.Concat(p.GoFiles, p.CgoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
		}
		if lines > most {
			t.Errorf("%s has %d lines, over %d: divide it", name, lines, most)
		}
	}
}

// noCgo lists the programs that must work without cgo.
var noCgo = []string{"cmd/gpusched", "cmd/gpusched-slurm", "cmd/gpuschedd", "cmd/gpusched-job", "cmd/gpusched-accounts", "cmd/gpusched-notify", "cmd/gpusched-mcp", "cmd/gpusched-top", "cmd/gpusched-web", "cmd/gpusched-metrics"}

type listed struct {
	ImportPath  string
	Dir         string
	GoFiles     []string
	CgoFiles    []string
	Imports     []string
	TestImports []string
	Deps        []string
}

// list returns what 'go list' reports about packages.
func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,CgoFiles,Imports,TestImports,Deps"}, args...)...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestImportTable checks every import against the table. It checks the imports of test files only
// in a package that has nothing but tests.
func TestImportTable(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "packaging/") || strings.HasPrefix(name, "contrib/") {
			continue // the build and the machine tests use these programs
		}
		r, known := rooms[name]
		seen[name] = true
		if !known {
			t.Errorf("package %s has no row in the import table: say what it may import, and why", name)
			continue
		}
		imports := p.Imports
		if slices.Equal(p.GoFiles, []string{"doc.go"}) {
			imports = p.TestImports
		}
		for _, imp := range imports {
			if why := r.refuses(imp); why != "" {
				t.Errorf("%s imports %s: %s (%s)", name, imp, why, r.why)
			}
		}
	}
	for name := range rooms {
		if !seen[name] {
			t.Errorf("the import table has a row for %s, which does not exist", name)
		}
	}
}

func (r importRule) refuses(imp string) string {
	if internal, ok := strings.CutPrefix(imp, module); ok {
		if !slices.Contains(r.internal, internal) {
			return "not in its row"
		}
		return ""
	}
	if slices.Contains(r.banned, imp) {
		return "banned for it"
	}
	if strings.Contains(strings.Split(imp, "/")[0], ".") && !slices.ContainsFunc(r.external, func(p string) bool { return strings.HasPrefix(imp, p) }) {
		return "another module that is not in its row"
	}
	return ""
}

// TestMap: the map in doc.go has exactly one line for each package.
func TestMap(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("# The map of the tree\n"))
	text, _, _ = bytes.Cut(text, []byte("\n// # "))
	var lines, packages []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(\S+) {2,}\S`).FindAllSubmatch(text, -1) {
		lines = append(lines, string(m[1]))
	}
	for _, p := range list(t, "./...") {
		packages = append(packages, strings.TrimPrefix(p.ImportPath, module))
	}
	for _, name := range lines {
		if !slices.Contains(packages, name) {
			t.Errorf("the map has a line for %s, which does not exist", name)
		}
	}
	for _, name := range packages {
		if !slices.Contains(lines, name) {
			t.Errorf("package %s has no line in the map of daemon/doc.go", name)
		}
	}
	if len(lines) != len(packages) {
		t.Errorf("the map has %d lines for %d packages", len(lines), len(packages))
	}
}

// TestNoCgo: only gpusched-nvml needs cgo. The other programs link no package that uses cgo, even
// where cgo is enabled, such as on a developer's machine.
func TestNoCgo(t *testing.T) {
	for _, name := range noCgo {
		for _, p := range list(t, "-deps", "./"+name) {
			if strings.HasPrefix(p.ImportPath, module) && len(p.CgoFiles) > 0 {
				t.Errorf("%s links %s, which needs cgo", name, p.ImportPath)
			}
			if strings.HasPrefix(p.ImportPath, "github.com/NVIDIA/go-nvml") {
				t.Errorf("%s links %s", name, p.ImportPath)
			}
		}
	}
}

// TestHouseRules checks three rules in the syntax. Each package has one package comment, in doc.go.
// No package has an init function. Only package main reads the environment.
func TestHouseRules(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		var docs []string
		for _, file := range slices.Concat(p.GoFiles, p.CgoFiles) {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				docs = append(docs, file)
			}
			checkSyntax(t, name, file, f)
		}
		if !slices.Equal(docs, []string{"doc.go"}) {
			t.Errorf("%s: the package comment must be in doc.go alone, found in %v", name, docs)
		}
	}
}

func checkSyntax(t *testing.T, pkg, file string, f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				t.Errorf("%s/%s has an init function", pkg, file)
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && x.Name == "os" && (n.Sel.Name == "Getenv" || n.Sel.Name == "LookupEnv" || n.Sel.Name == "Environ") &&
				!strings.HasPrefix(pkg, "cmd/") && !strings.HasPrefix(pkg, "packaging/") && pkg != "units/launch" {
				t.Errorf("%s/%s reads the environment: only mains do", pkg, file)
			}
		}
		return true
	})
}

// TestTheClientStartsFast: no package of the client compiles a regular expression when the program
// starts. A dozen regular expressions took a quarter of the run time of a short command.
func TestTheClientStartsFast(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/gpusched") {
		if !strings.HasPrefix(p.ImportPath, module) {
			continue
		}
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range f.Decls {
				if compilesAtStart(decl) {
					t.Errorf("%s/%s compiles a regular expression at the start of the program: use sync.OnceValue", p.ImportPath, file)
				}
			}
		}
	}
}

// compilesAtStart reports whether a package variable is initialized with
// a compiled regular expression.
func compilesAtStart(decl ast.Decl) (found bool) {
	if d, ok := decl.(*ast.GenDecl); !ok || d.Tok != token.VAR {
		return false
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "MustCompile" {
			found = true
		}
		_, later := n.(*ast.FuncLit)
		return !later
	})
	return found
}

// TestPromisesAreTested: ARCHITECTURE has tables of durability and of promises. Each of their rows
// names a test.
func TestPromisesAreTested(t *testing.T) {
	text, err := os.ReadFile("../contrib/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"What is durable when", "Promises"} {
		_, section, _ := strings.Cut(string(text), "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		rows := 0
		for row := range strings.Lines(section) {
			if !strings.HasPrefix(row, "| ") || strings.HasSuffix(row, "| tests |\n") {
				continue
			}
			if rows++; !strings.Contains(row, "`Test") {
				t.Errorf("%q: no test is named for %s", title, row)
			}
		}
		if rows < 6 {
			t.Errorf("%q has %d rows", title, rows)
		}
	}
}

// TestNamedTestsExist: every test that a document names exists.
func TestNamedTestsExist(t *testing.T) {
	defined, named := map[string]bool{}, map[string][]string{}
	def, use := regexp.MustCompile(`(?m)^func (Test\w+)\(`), regexp.MustCompile(`\bTest[A-Z]\w*(…|\b)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), ".") {
			return cmp.Or(err, fs.SkipDir)
		}
		isTest := strings.HasSuffix(path, "_test.go")
		if !isTest && !slices.Contains([]string{".md", ".service", ".8"}, filepath.Ext(path)) && d.Name() != "doc.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if isTest {
			for _, m := range def.FindAllSubmatch(text, -1) {
				defined[string(m[1])] = true
			}
			return err
		}
		for _, name := range use.FindAllString(string(text), -1) {
			named[name] = append(named[name], path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(named) < 20 {
		t.Errorf("only %d tests are named in documents", len(named))
	}
	for name, paths := range named {
		if !defined[name] && !strings.HasSuffix(name, "…") {
			t.Errorf("%v name %s, and there is no such test", paths, name)
		}
	}
}
