// Package daemon is the shell around the pure core: one goroutine owns the
// state of all jobs, everything else brings it events or carries out what it
// decided.
//
// # The map of the tree
//
//	cmd/gpusched              the command line
//	cmd/gpusched/client       the command line as a whole: its grammar, and where a command is carried out
//	cmd/gpusched/cli          what its commands share: a run, output, words for jobs, tables, errors
//	cmd/gpusched/parse        reads command lines, and says what is wrong with them
//	cmd/gpusched/afar         has the gpusched of other machines answer
//	cmd/gpusched/look         list, show, status, gpus, why, events, health
//	cmd/gpusched/past         history, report, usage
//	cmd/gpusched/logs         what jobs printed
//	cmd/gpusched/act          cancel, hold, update and the like; GPUs, reservations, the daemon
//	cmd/gpusched/attach       attach, exec, wait
//	cmd/gpusched/jobenv       what lies around a job where it is submitted
//	cmd/gpusched/estimate     how much memory a model takes
//	cmd/gpusched/submit       submit, run, shell, resubmit, screens
//	cmd/gpusched/site         config, version, metrics, mcp, top
//	cmd/gpusched/feed         import, watch, add, migrate, export
//	cmd/gpusched/tools        other tools' names for commands
//	cmd/gpusched/doctor       the command doctor
//	cmd/gpusched/alias        other tools' command lines as ours
//	cmd/gpusched/doctor/bugreport    takes out of text what a bug report must not have
//	cmd/gpusched/doctor/installation  checks an installation from its user's side
//	cmd/gpusched/doctor/trial  what 'doctor --test' runs in a job on each GPU
//	cmd/gpusched/engines      what the command line asks of whatever runs jobs
//	cmd/gpusched/gantt        draws what becomes of the GPUs
//	cmd/gpusched/jobsfile     the files of jobs that other schedulers have
//	cmd/gpusched/manual       makes the manual pages of the command line
//	cmd/gpusched/oldconfig    the settings of other schedulers as ours
//	cmd/gpusched/options      what help and manual say of each option
//	cmd/gpusched/remote       the gpusched of another machine, by ssh
//	cmd/gpusched/slurm        the options of sbatch as ours
//	cmd/gpusched/term         what a terminal can show: text, times, tables
//	cmd/gpuschedd             the daemon: reads its flags, opens its socket and log
//	cmd/gpusched-metrics      answers scrapes on a port, and tells dcgm-exporter who is on which GPU
//	cmd/gpusched-mcp          the queue for an agent, by the Model Context Protocol
//	cmd/gpusched-top          GPUs and jobs on the whole screen
//	cmd/gpusched-top/screen   what is on it and what keys do
//	cmd/gpusched-slurm        the command line with a Slurm behind it
//	cmd/gpusched-slurm/export  this machine as the files of a Slurm
//	cmd/gpusched-slurm/migrate  waiting jobs from here to a Slurm
//	cmd/gpusched-slurm/onslurm  answers as the daemon does where Slurm runs the jobs
//	cmd/gpusched-slurm/sbatch  our requests as calls of sbatch
//	cmd/gpusched-slurm/slurmexec  runs Slurm's programs
//	cmd/gpusched-slurm/slurmsite  the files of a Slurm that is as this machine
//	cmd/gpusched-nvml         reads the GPUs
//	cmd/gpusched-accounts     names of accounts that /etc/passwd does not have
//	cmd/gpusched-notify       sends one message about a job, as the job's user
//	cmd/gpusched-web          a read-only page for browsers of this machine
//	cmd/loopback              how what answers browsers and scrapers listens
//	cmd/progress              a line on a terminal about work that takes long
//	cmd/gpusched-job          runs inside the job's unit, as the user
//
//	daemon                    this package: loop, committer, executor, sampler, backend of the server
//	daemon/core               pure life cycle: Step(event, now) → records, actions, replies
//	daemon/core/accounts      users and groups: quotas, charging, fair share
//	daemon/core/estimates     how long jobs run and what they take
//	daemon/core/foresight     forecasts for readers, and what would start a job sooner
//	daemon/core/gpus          the GPUs over time: samples, errors, use, what is left behind
//	daemon/core/outbox        messages that users are owed
//	daemon/core/site          what the site decided, and what the machine is
//	daemon/core/starts        how the starts of units go
//	daemon/core/tracked       the jobs that have not ended
//	daemon/sched              pure placement: Plan, Explain, Never
//	daemon/job                pure values: ids, requests, states, results, reasons
//	daemon/events             what is announced to those who follow, and the last of it
//	daemon/words              turns codes into sentences, for the terminal, the API and the journal alike
//	daemon/store              SQLite: jobs, attempts, private payloads, GPU controls
//	daemon/config             the site's settings
//	daemon/api                wire types and client
//	daemon/server             HTTP over the activated socket, identity, rights
//	daemon/directory          accounts and groups that are not in the host's files
//	daemon/directory/getent   asks the C library for them
//	daemon/gres               which GPUs of this machine a Slurm gives away
//	daemon/host               the machine: accounts, memory, processes, lines of health
//	daemon/metrics            what a monitoring system is told: its table, counters and text
//	daemon/supervise          puts the daemon together, reloads its settings, begins anew after errors
//	daemon/journal            what is logged, on its way to journald
//	daemon/report             counts what jobs took of the machine, and what they used of it
//	daemon/report/chart       draws figures as SVG
//	daemon/slots              bounds how many callers of each user, or job, go on at once
//	daemon/subuid             whose the uids of containers are, for the daemon and the doctor
//	daemon/sim                replays a trace of jobs through core and sched
//	daemon/sim/cli            the command "gpuschedd sim"
//
//	gpu                       what is known of GPUs, without cgo
//	gpu/source                runs gpusched-nvml
//	gpu/nvml                  reads the driver: the only importer of NVML
//	gpu/kernellog             the driver's error reports
//
//	units                     a job's unit: names, properties, decoding (pure)
//	units/contract            what both ends of a job's unit agree on, as constants
//	units/launch              the launcher and its private spec
//	units/retry               how long to wait before the next try of what failed
//	units/terminal            how a job's terminal is found and spoken to
//	units/terminal/hold       holds it: runs in the job's unit
//	units/sandbox             what keeps a process from what its account may do
//	units/systemd             talks to systemd
//	cgroup                    limits, device entries, statistics
//	cgroup/cpuset             a set of CPUs, as lists and as bits
//
// What only tests and the repository's tools use:
//
//	daemon/dst                simulation of all of this but the server, with every fault, from one seed
//	daemon/store/diskfault    a file system for SQLite that fails when told
//	daemon/server/servertest  a backend whose answers a test writes down
//	gpu/fakenvml              a libnvidia-ml.so.1 without a GPU
//	gpu/gputest               a source of GPUs in memory, and what every source must pass
//	units/unittest            a systemd in memory, and what every systemd must pass
//	packaging/stage           makes the files of the package that are made from something else
//	packaging/check           tests of the deb and rpm
//	packaging/test/vm         throw-away machines: a box and an emulated one
//	packaging/test/disk       the disk of an emulated machine, for power cuts
//	packaging/test/machine    such a machine from the shell, and the demo
//	packaging/test/suite      the tests on these machines
//	packaging/test/attacker   what a user with an ordinary account tries there
//	packaging/test/loadgen    an account that submits many jobs there
//	packaging/test/run        runs the stages of make test and make test-all and counts
//	packaging/test/golden     compares with the files of a test's testdata
//	packaging/test/await      waits that have a limit
//	contrib/pictures          what a terminal shows as SVG, for the README
//
// The rest of packaging is what the packages hold: unit files, manual pages,
// completions, maintainer scripts.
//
// # How a job goes through it
//
//	client ─ socket ─ server ─ Backend ─ event ──▶ loop: core.Step ──▶ effects
//	                                       ▲                             │ in order
//	   systemd signals ─ watcher ──────────┤                             ▼
//	   gpusched-nvml ─── sampler ──────────┤                 committer: one transaction for
//	   executor's answers ─────────────────┘                 all that waits, then actions, then replies
//
// # Invariants
//
//  1. Only the loop touches the core. It never waits for a disk, a bus, a
//     driver or a client.
//  2. Effects leave in the order of their steps. Nothing is begun or answered
//     whose records are not on disk, but looks at the GPUs; while the disk fails,
//     the effects wait and new submissions are refused.
//  3. Every action that the core waits for is answered by an event, whatever
//     happens to it; one whose outcome is unknown is answered as unsure. Notes and
//     the like are tried once and not answered.
//  4. The watchdog is fed by the loop itself, so a loop that hangs is
//     restarted; a driver, bus or disk that hangs is not the loop's trouble.
//  5. Stopping touches no job: what is under way is left to recovery.
//  6. Each part of the machine that the daemon stands on has a time limit, a
//     back-off and a line in Health; gpusched-admin(7) has the table, and tests hold
//     it. Health takes CheckTime twice at most, whatever hangs.
package daemon
