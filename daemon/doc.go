// Package daemon connects the core, which decides and does no input or output, to the machine. One goroutine, the
// loop, has the state of all jobs. The other goroutines bring events to the loop and carry out its decisions.
//
// # The map of the tree
//
//	cmd/gpusched              the command line
//	cmd/gpusched/client       the whole command line: its grammar, and where each command runs
//	cmd/gpusched/cli          what the commands share: a run, its output, words for jobs, tables, errors
//	cmd/gpusched/parse        parses command lines and explains mistakes in them
//	cmd/gpusched/afar         asks the gpusched of other machines
//	cmd/gpusched/look         list, show, status, gpus, why, events, health
//	cmd/gpusched/past         history, report, usage
//	cmd/gpusched/logs         the output of jobs
//	cmd/gpusched/act          cancel, hold, update and the like; GPUs, reservations, the daemon
//	cmd/gpusched/attach       attach, exec, wait
//	cmd/gpusched/jobenv       the directory, environment and program that a new job takes from its submitter
//	cmd/gpusched/estimate     estimates the memory that a model needs
//	cmd/gpusched/submit       submit, run, shell, resubmit, screens
//	cmd/gpusched/step         what srun starts inside a job
//	cmd/gpusched/editor       ssh-config, proxy, jupyter: editors, ssh and notebooks inside a job
//	cmd/gpusched/site         config, version, metrics, mcp, top
//	cmd/gpusched/feed         import, watch, add, migrate, export
//	cmd/gpusched/tools        the command names of other tools
//	cmd/gpusched/doctor       the command doctor
//	cmd/gpusched/alias        translates other tools' command lines into ours
//	cmd/gpusched/doctor/bugreport    removes from text what a bug report must not contain
//	cmd/gpusched/doctor/installation  checks an installation as its user sees it
//	cmd/gpusched/doctor/trial  what 'doctor --test' runs in a job on each GPU
//	cmd/gpusched/engines      the interface to the engine that runs jobs: our daemon or Slurm
//	cmd/gpusched/gantt        draws the forecast of the GPUs
//	cmd/gpusched/jobsfile     reads the job files of other schedulers
//	cmd/gpusched/manual       makes the manual pages of the command line
//	cmd/gpusched/oldconfig    translates the settings of other schedulers into ours
//	cmd/gpusched/options      the help and manual text of each option
//	cmd/gpusched/remote       runs the gpusched of another machine over ssh
//	cmd/gpusched/slurm        translates the options of sbatch into ours
//	cmd/gpusched/term         what a terminal can show: text, times, tables
//	cmd/gpuschedd             the daemon: parses its flags, opens its socket and log
//	cmd/gpusched-metrics      answers scrapes on a port, and maps GPUs to jobs for dcgm-exporter
//	cmd/gpusched-mcp          offers the queue to an agent by the Model Context Protocol
//	cmd/gpusched-top          shows GPUs and jobs on the whole screen
//	cmd/gpusched-top/screen   the contents of the screen of gpusched-top, and what its keys do
//	cmd/gpusched-slurm        the command line on top of Slurm
//	cmd/gpusched-slurm/export  writes this machine as the files of a Slurm
//	cmd/gpusched-slurm/migrate  moves waiting jobs from here to a Slurm
//	cmd/gpusched-slurm/onslurm  answers as the daemon does where Slurm runs the jobs
//	cmd/gpusched-slurm/sbatch  translates our requests into calls of sbatch
//	cmd/gpusched-slurm/slurmexec  runs Slurm's programs
//	cmd/gpusched-slurm/slurmsite  the configuration files of a Slurm that matches this machine
//	cmd/gpusched-nvml         reads the GPUs
//	cmd/gpusched-accounts     looks up accounts that are not in /etc/passwd
//	cmd/gpusched-notify       sends one message about a job, as the job's user
//	cmd/gpusched-web          serves a read-only page to browsers of this machine
//	cmd/loopback              the listener of the programs that answer browsers and scrapers
//	cmd/progress              a progress line for slow work
//	cmd/gpusched-job          runs inside the job's unit, as the user
//
//	daemon                    this package: the loop, and what connects the core to disk, systemd, GPUs and server
//	daemon/core               the life cycle of jobs, without I/O: Step(event, now) → records, actions, replies
//	daemon/core/accounts      users and groups: quotas, charging, fair share
//	daemon/core/estimates     how long jobs run and what they take
//	daemon/core/foresight     forecasts for readers, and which changes would start a job sooner
//	daemon/core/gpus          the GPUs over time: samples, errors, use, leftovers of jobs
//	daemon/core/outbox        messages that are still to be sent to users
//	daemon/core/queue         the jobs that may start, and the plans for them
//	daemon/core/site          the site's settings for the core, and the machine's properties
//	daemon/core/starts        counts how the starts of units succeed and fail
//	daemon/core/tracked       the jobs that have not ended
//	daemon/sched              decides which job gets which GPUs, without I/O: Plan, Explain, Never
//	daemon/sched/links        chooses among whole GPUs: by model, by foreign processes, by their links
//	daemon/predict            learns how long jobs run, and how much memory they take
//	daemon/job                plain values: ids, requests, states, results, reasons
//	daemon/events             the events for subscribers, of which it keeps the most recent
//	daemon/words              turns codes into sentences for the terminal, the API and the journal
//	daemon/store              SQLite: jobs, attempts, private payloads, GPU controls
//	daemon/config             the site's settings
//	daemon/api                wire types and client
//	daemon/server             HTTP over the activated socket: identity, rights, routes
//	daemon/directory          looks up accounts and groups, also those that are not in the host's files
//	daemon/directory/getent   looks up accounts and groups in the C library
//	daemon/gres               reads which GPUs of this machine a Slurm installation has
//	daemon/health             lines of health about the GPUs
//	daemon/host               facts about the machine: accounts, memory, processes, lines of health
//	daemon/metrics            the metrics: their table, counters and text
//	daemon/supervise          assembles the daemon, reloads its settings, restarts it after errors
//	daemon/journal            sends log lines to journald
//	daemon/report             sums the machine's resources that jobs held and used
//	daemon/report/chart       draws figures as SVG
//	daemon/removal            removes the directories of jobs when nobody needs them any more
//	daemon/slots              limits the concurrent callers of each user or job
//	daemon/subuid             maps the uids of containers to their owners, for the daemon and the doctor
//	daemon/sim                replays a trace of jobs through core and sched
//	daemon/sim/cli            the command "gpuschedd sim"
//
//	gpu                       facts and rules about GPUs, without cgo
//	gpu/source                runs gpusched-nvml
//	gpu/nvml                  reads the driver: the only importer of NVML
//	gpu/nvml/cuda             tests with CUDA whether a GPU computes, and parks processes
//	gpu/driver                reads which driver is loaded and which is installed
//	gpu/kernellog             reads the driver's error reports from the kernel log
//
//	units                     a job's unit: names, properties, decoding, without I/O
//	units/contract            the constants on which both ends of a job's unit agree
//	units/launch              the launcher and its private spec
//	units/retry               the delay before the next try of something that failed
//	units/terminal            finds a job's terminal and talks to it
//	units/terminal/hold       keeps that terminal open, inside the job's unit
//	units/sandbox             recognizes processes that may do less than their account
//	units/systemd             talks to systemd
//	cgroup                    limits, device entries, statistics
//	cgroup/cpuset             a set of CPUs, as lists and as bits
//
// What only tests and the repository's tools use:
//
//	daemon/dst                simulates the daemon without its server, with every fault, from one seed
//	daemon/server/servertest  a backend whose answers a test writes down
//	gpu/fakenvml              a libnvidia-ml.so.1 without a GPU
//	gpu/gputest               a source of GPUs in memory, and the tests that every source must pass
//	units/unittest            a systemd in memory, for tests
//	packaging/stage           generates files of the packages
//	packaging/check           tests of the deb and rpm
//	packaging/test/vm         throw-away machines: a box and an emulated one
//	packaging/test/disk       the disk of an emulated machine, for power cuts
//	packaging/test/machine    starts such a machine from the shell, and the demo
//	packaging/test/suite      the tests on these machines
//	packaging/test/attacker   attacks by a user with an ordinary account
//	packaging/test/loadgen    an account that submits many jobs on such a machine
//	packaging/test/run        runs and counts the stages of 'make test' and 'make test-all'
//	packaging/test/golden     compares output with the files of a test's testdata
//	packaging/test/released   checks that what the last release promised is still there
//	packaging/test/await      waits with a time limit
//	contrib/pictures          draws a terminal as SVG, for the README
//
// The rest of the folder packaging has the files of the packages: unit files, manual pages, completions, maintainer
// scripts.
//
// # How a request passes through the daemon
//
//	client ─ socket ─ server ─ Backend ─ event ──▶ loop: core.Step ──▶ effects
//	                                       ▲                             │ in order
//	   systemd signals ─ watch ────────────┤                             ▼
//	   gpusched-nvml ─── sampler ──────────┤                 committer: one transaction for
//	   executor's answers ─────────────────┘                 all that waits, then actions, then replies
//
// The methods of Backend are in backend.go and in the files of their subjects. loop.go has the loop, commit.go the
// committer, and executor.go the actions: start.go makes a unit, inspect.go reads it and stop.go removes it.
//
// # Invariants
//
//  1. Only the loop uses the core. The loop never waits for a disk, a bus, a driver or a client.
//  2. The effects of the steps are carried out in the order of the steps.
//     No action begins and no request is answered before its records are on disk.
//     Only samples of the GPUs begin earlier. While the disk fails, the effects wait and new submissions are refused.
//  3. Each action that the core waits for is answered by exactly one event. If the outcome of an action is unknown,
//     the event says so. Notes and similar actions are tried once and not answered.
//  4. The loop itself notifies systemd's watchdog, so systemd restarts a daemon whose loop hangs.
//     If a driver, bus or disk hangs, the loop continues.
//  5. A stop of the daemon changes no job. The next daemon takes over whatever was in progress.
//  6. Each part of the machine that the daemon depends on has a time limit, a delay between tries,
//     and a line in Health. gpusched-admin(7) has the table, and tests compare it with the program.
//     Health takes at most twice CheckTime, whatever hangs.
package daemon
