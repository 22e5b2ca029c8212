// Package vm owns the test machines of gpusched. They are throw-away Debian machines with a real
// systemd, made from cached images. Tests install the shipped package in a machine and run there.
// The package vm needs root on a Debian-like Linux host.
//
// There are two kinds of machine with the same methods:
//
//   - a box: systemd as the first process of a container on the host's kernel. It boots in under a
//     second and runs at native speed. Units, D-Bus, the journal and the device filter are real.
//     Its memory, pids and cpu limits work only if the host has those controllers on cgroup v2 (see
//     HasControllers). Its only networks are loopback and, after a call of Connect, the wire to
//     another box.
//   - an emulated machine: a full machine in QEMU with its own kernel, udev and ssh server.
//     Everything is real, including reboots and power cuts, at a twentieth of the speed. Its disk
//     has a write cache, which is lost in a power cut (packaging/test/disk). CutCopy shows what a
//     power cut would leave, without cutting the power.
//
// Both kinds run Debian 12 unless Options.Suite says otherwise. The cache has one image for each
// suite. The image of sid keeps the packages that sid had when the image was built. To get a newer
// image, remove its directory; the build prints the name.
//
// A test starts a machine and uses it like this:
//
//	m, err := vm.Start(ctx, vm.Box, vm.Options{})
//	if err != nil { … }
//	defer m.Close()
//	r, err := m.Run(ctx, "alice", nil, "id", "-un")   // r.Stdout is "alice\n"
//	r, err = m.Sh(ctx, "", "systemctl is-system-running")
//
// In a shell, go run ./packaging/test/machine box (or emulated) opens a root shell in a machine;
// with -- CMD… it runs one command.
//
// The first start builds the image (about 40 s for a box, 80 s for an emulated machine) and keeps
// it in .cache/vm of the checkout. EnsureHostPackages installs missing packages on the host. The
// tests of this package, and those of the product in packaging/test/suite, have the build tag
// "machine": go test -tags machine ./packaging/test/vm.
//
// An emulated machine also emulates its processors, because KVM is not reliable inside another
// virtual machine: /dev/kvm may exist and open there, but it was seen to hang and to abort QEMU. A
// box has its own device nodes, journal, units and boot id (a new id at each boot), but the host's
// kernel. It therefore has no /dev/kmsg, and a power cut loses its processes but nothing in the
// page cache.
//
// With Options.HostGPUs a box has the host's own GPUs: their device nodes and, read-only, those
// parts of the driver that programs need to compute, in the places where programs look for them. If
// other programs on the host use these GPUs, the box sees the memory in use. The device nodes are
// the host's: if their modes are changed in the box, they change on the host.
//
// Package vm never installs gpusched or the fake NVML library into an image; Provision installs
// them in a running machine. It never runs the image's systemd or udevd on the host's own network
// or in the host's PID namespace.
//
// Invariants:
//
//  1. An image is named by the hash of its recipe (suite, packages, customisation script, format)
//     and never changes once it exists. Each machine writes to its own overlay or copy.
//  2. Everything that a machine needs on the host is in three places: a run directory under
//     RunRoot, a control group with the same name, and processes in that group. Close removes all
//     three, whatever happened before, and reports what it could not remove.
//  3. Mounts are made only in a machine's own mount namespace, so no mount can be left behind.
//  4. If the process that started a machine dies, in any way, the kernel ends the machine. A later
//     start on the host removes the directory and the group. The lock on the run directory shows
//     whether the owner is alive.
//  5. On both kinds, Run returns the command's own exit code, or 128+N if signal N killed the
//     command. An error means that the command's outcome is unknown.
//  6. A machine has two users: alice (1001), who is also in the group lab (2001), and bob (1002),
//     who is in no other group. Commands run with the user's own groups, the home as working
//     directory and a clean environment, without a PAM session.
//  7. /dev/nvidia0 to 3 and /dev/nvidiactl (mode 0666, no driver behind them) exist after every
//     boot. With Options.HostGPUs only the host's nodes exist instead.
package vm
