// Package vm owns the test machines of gpusched: throw-away Debian machines with a real systemd, made from cached
// images, in which the shipped package is installed and its tests run. It needs root on a Debian-like Linux host.
//
// There are two kinds, with the same methods on both:
//
//   - a box: systemd as the first process of a container on the host's kernel. It boots in under a second and runs at
//     native speed. Units, D-Bus, the journal and the device filter are real. Its memory, pids and cpu limits are real
//     only where the host keeps those controllers on cgroup v2: ask HasControllers. It has no network but loopback, and
//     the wire to another box that Connect makes.
//   - an emulated machine: a full machine in QEMU with a kernel, udev and an ssh server of its own. Everything is real,
//     reboots and power cuts too, at a twentieth of the speed. Its disk has a write cache that a power cut loses
//     (packaging/test/disk), and CutCopy shows what a cut would leave without one.
//
// Both are of Debian 12 unless Options.Suite says otherwise; images of several suites lie in the cache side by side.
// That of sid stays what sid was when it was built: remove its directory, which the build names, to get a newer one.
//
// A test starts one and talks to it:
//
//	m, err := vm.Start(ctx, vm.Box, vm.Options{})
//	if err != nil { … }
//	defer m.Close()
//	r, err := m.Run(ctx, "alice", nil, "id", "-un")   // r.Stdout is "alice\n"
//	r, err = m.Sh(ctx, "", "systemctl is-system-running")
//
// From a shell: go run ./packaging/test/machine box (or emulated) for a root shell, with -- CMD… for one command.
//
// Both build their image the first time (a box in about 40 s, an emulated machine in about 80 s) and keep it in
// .cache/vm of the checkout. EnsureHostPackages installs what they need on the host. The package's own tests, and
// those of the product in packaging/test/suite, have the build tag "machine": go test -tags machine
// ./packaging/test/vm.
//
// An emulated machine emulates its processors, too: a /dev/kvm that exists and opens says little inside another virtual
// machine, where it was seen to hang and to abort QEMU. A box's device nodes, journal and units are its own, and so is
// its boot id (a new one at each boot), but the kernel is the host's: there is no /dev/kmsg, and a power cut loses
// processes and not what the page cache holds.
//
// With Options.HostGPUs a box has the host's own GPUs, to test on a machine with some: their device nodes, and of the
// driver what computing needs, read-only where programs look for it. Whoever uses the GPUs on the host meanwhile is
// seen from the box as memory in use. The nodes are the host's: a change of their modes in the box is one there.
//
// The package never installs gpusched or the fake NVML library into an image; they are put into a machine that runs, by
// Provision. It never runs the image's systemd or udevd on the host's own network or in the host's process space.
//
// Invariants:
//
//  1. An image is named by the hash of its recipe (suite, packages, customisation script, format) and never changes
//     once it is there; machines write to an overlay or a copy of their own.
//  2. Everything a machine needs on the host lives in three places: a run directory under RunRoot, a control group
//     named after it, and processes in that group. Close removes all three, whatever happened before, and reports
//     what it could not.
//  3. Mounts are made only in a mount space of the machine's own, so no mount can be left behind.
//  4. When the process that started a machine dies, in any way, the kernel ends the machine; what then remains
//     (directory, group) is removed by the next start on the host. The lock on the run directory tells the dead from
//     the living.
//  5. Run gives the command's own exit code, 128+N for a death by signal N, on both kinds; an error means the command's
//     fate is not known.
//  6. Users in a machine: alice (1001, also in group lab, 2001) and bob (1002), in no other group. Commands run with
//     the user's own groups, home as working directory and a clean environment, without a PAM session.
//  7. /dev/nvidia0 to 3 and /dev/nvidiactl (mode 0666, no driver behind them) exist after every boot; with
//     Options.HostGPUs those of the host do instead, and no others.
package vm
