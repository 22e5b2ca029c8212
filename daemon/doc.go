// Package daemon is the shell around the pure core: one goroutine owns the
// state of all jobs, everything else brings it events or carries out what it
// decided.
//
// # The map of the tree
//
//	cmd/gpusched        the CLI               cmd/gpuschedd       the daemon: wires what is below, no logic
//	cmd/gpusched-nvml   reads the GPUs        cmd/gpusched-job    runs inside the job's unit, as the user
//
//	daemon/             this package: loop, committer, executor, sampler, backend of the server
//	daemon/job          pure values: ids, requests, states, results, reasons
//	daemon/sched        pure placement: Plan, Explain, Never
//	daemon/core         pure life cycle: Step(event, now) → records, actions, replies
//	daemon/store        SQLite: jobs, attempts, private payloads, GPU controls
//	                    daemon/store/diskfault is a file system for SQLite that fails when told, for tests
//	daemon/config       the site's settings     daemon/api    wire types and client
//	daemon/dst          simulation of all of this but the server, with every fault, from one seed
//	daemon/journal      what is logged, on its way to journald
//	daemon/server       HTTP over the activated socket, identity, rights
//	daemon/subuid       whose the uids of containers are, for the daemon and the doctor
//	gpu/                what is known of GPUs (no cgo); gpu/source runs gpusched-nvml, gpu/nvml is inside it,
//	                    gpu/kernellog reads the driver's error reports, gpu/fakenvml is a libnvidia-ml.so.1 without a GPU
//	units/              a job's unit: names, properties, decoding (pure); units/systemd talks to systemd;
//	                    units/unittest is a systemd in memory; units/launch is the launcher and its private spec;
//	                    units/contract is what all of these agree on, as constants
//	cgroup/             limits, device entries, statistics
//	packaging/          what the packages hold; packaging/test/vm the machine tests
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
//     whose records are not on disk; while the disk fails, the effects wait
//     and new submissions are refused.
//  3. Every action that the core waits for is answered by an event, whatever
//     happens to it; one whose outcome is unknown is answered as unsure. Signals,
//     notes and the like are tried once and not answered.
//  4. The watchdog is fed by the loop itself, so a loop that hangs is
//     restarted; a driver, bus or disk that hangs is not the loop's trouble.
//  5. Stopping touches no job: what is under way is left to recovery.
//  6. Each part of the machine that the daemon stands on has a time limit, a
//     back-off and a line in Health; gpuschedd(8) has the table, and tests hold
//     it. Health takes CheckTime twice at most, whatever hangs.
package daemon
