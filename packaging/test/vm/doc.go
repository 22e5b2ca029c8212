// Package vm owns the test machines of gpusched: throw-away Debian machines with a real systemd,
// made from cached images, in which the shipped package is installed and its tests run. It needs
// root on a Debian-like Linux host.
//
// There are two kinds of machine with the same methods:
//
//   - a box: systemd as the first process of a container on the host's kernel. It boots in under a
//     second and runs at native speed. Units, D-Bus, the journal and the device filter are real.
//     Its memory, pids and cpu limits work only if the host has those controllers on cgroup v2: see
//     HasControllers. It has no network but loopback, and the wire to another box that Connect
//     makes.
//   - an emulated machine: a full machine in QEMU with its own kernel, udev and ssh server.
//     Everything is real, including reboots and power cuts, at a twentieth of the speed. Its disk
//     has a write cache that a power cut loses (packaging/test/disk), and CutCopy shows what a cut
//     would leave without making one.
//
// Both run Debian 12 unless Options.Suite says otherwise; the cache holds an image per suite. The
// image of sid stays what sid was when it was built: to get a newer one, remove its directory,
// which the build names.
//
// A test starts a machine and talks to it:
//
//	m, err := vm.Start(ctx, vm.Box, vm.Options{})
//	if err != nil { … }
//	defer m.Close()
//	r, err := m.Run(ctx, "alice", nil, "id", "-un")   // r.Stdout is "alice\n"
//	r, err = m.Sh(ctx, "", "systemctl is-system-running")
//
// From a shell: go run ./packaging/test/machine box (or emulated) opens a root shell; -- CMD… runs
// one command.
//
// The first start builds the image (about 40 s for a box, 80 s for an emulated machine) and keeps
// it in .cache/vm of the checkout. EnsureHostPackages installs what the host lacks. The package's
// own tests, and those of the product in packaging/test/suite, have the build tag "machine": go
// test -tags machine ./packaging/test/vm.
//
// An emulated machine emulates its processors too: inside another virtual machine a /dev/kvm that
// exists and opens says little, and was seen to hang and to abort QEMU. A box has its own device
// nodes, journal, units and boot id (a new one at each boot), but the host's kernel: there is no
// /dev/kmsg, and a power cut loses processes but nothing in the page cache.
//
// With Options.HostGPUs a box has the host's own GPUs: their device nodes, and read-only the parts
// of the driver that computing needs, where programs look for them. Other programs on the host's
// GPUs show in the box as memory in use. The nodes are the host's: changing their modes in the box
// changes them on the host.
//
// The package never installs gpusched or the fake NVML library into an image; Provision installs
// them in a running machine. It never runs the image's systemd or udevd on the host's own network
// or in the host's PID namespace.
//
// Invariants:
//
//  1. An image is named by the hash of its recipe (suite, packages, customisation script, format)
//     and never changes once it exists; machines write to an overlay or a copy of their own.
//  2. Everything that a machine needs on the host is in three places: a run directory under
//     RunRoot, a control group named after it, and processes in that group. Close removes all
//     three, whatever happened before, and reports what it could not remove.
//  3. Mounts are made only in a machine's own mount namespace, so no mount can be left behind.
//  4. When the process that started a machine dies, in any way, the kernel ends the machine; the
//     next start on the host removes the directory and the group. The lock on the run directory
//     tells a dead owner from a living one.
//  5. Run returns the command's own exit code, or 128+N for a death by signal N, on both kinds; an
//     error means that the command's outcome is unknown.
//  6. Users in a machine: alice (1001, also in group lab, 2001) and bob (1002), in no other group.
//     Commands run with the user's own groups, home as working directory and a clean environment,
//     without a PAM session.
//  7. /dev/nvidia0 to 3 and /dev/nvidiactl (mode 0666, no driver behind them) exist after every
//     boot; with Options.HostGPUs the host's nodes exist instead, and no others.
package vm
