package vm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/gpu/fakenvml"
)

// ProvisionOptions names the files on the host that Provision installs in a running machine.
// Provision leaves a part out if its name is "".
type ProvisionOptions struct {
	Deb     string // package under test
	Tree    string // used instead of Deb: a tar of what 'make install' installs
	FakeLib string // the fake NVML library
	SimCUDA string // the simulated CUDA program

	// FakeCUDA is the fake libcuda.so.1. Provision installs it at FakeCUDAPath, where no loader
	// finds it. A test that needs it makes a link.
	FakeCUDA string

	GPUs []string // used with FakeLib: a line for each GPU in the library's format; nil means the library's defaults
}

// These are the paths of the installed parts, and of the file that lists the fake library's GPUs.
const (
	FakeLibPath  = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
	SimCUDAPath  = "/usr/local/bin/simcuda"
	FakeCUDAPath = "/usr/local/lib/fakecuda/libcuda.so.1"
	FakeNVMLDir  = fakenvml.DefaultDir
	FakeNVMLGPUs = FakeNVMLDir + "/gpus"   // a line for each GPU; without this file the library uses its defaults
	fakeNVMLKept = "/etc/vm-fakenvml-gpus" // if this file exists, each boot copies it to FakeNVMLGPUs
)

// fakeNVMLDirs creates the fake library's state directory, now and at every boot.
const fakeNVMLDirs = `cat >/etc/tmpfiles.d/vm-fakenvml.conf <<END
d ` + FakeNVMLDir + ` 0755 root root -
d ` + FakeNVMLDir + `/claims 1777 root root -
END
systemd-tmpfiles --create /etc/tmpfiles.d/vm-fakenvml.conf`

// Provision installs the fake NVML library (with its state directory), the simulated CUDA program
// and the package in a machine. The package comes last, so that its daemon finds GPUs when it
// starts. Everything survives reboots. Each boot creates the state directory again. The directory
// lists the GPUs of opts; if opts has none, it is empty, and the library uses its defaults. A test
// that wants other GPUs later writes FakeNVMLGPUs.
func Provision(ctx context.Context, m *Machine, opts ProvisionOptions) error {
	if opts.FakeLib != "" {
		if m.hostGPUs { // the fake library's rules would change the owners and modes of the host's nodes
			return errors.New("the fake NVML library: this machine has the host's GPUs")
		}
		if err := m.installFakeLib(ctx, opts.FakeLib); err != nil {
			return err
		}
		if err := m.plugGPUs(ctx, opts.GPUs); err != nil {
			return err
		}
	}
	if opts.SimCUDA != "" {
		if err := m.CopyIn(ctx, opts.SimCUDA, SimCUDAPath, 0o755); err != nil {
			return err
		}
	}
	if opts.FakeCUDA != "" {
		if err := m.CopyIn(ctx, opts.FakeCUDA, FakeCUDAPath, 0o755); err != nil {
			return err
		}
	}
	switch {
	case opts.Deb != "":
		return m.InstallPackage(ctx, opts.Deb)
	case opts.Tree != "":
		return m.installTree(ctx, opts.Tree)
	}
	return nil
}

func (m *Machine) installFakeLib(ctx context.Context, lib string) error {
	if err := m.CopyIn(ctx, lib, FakeLibPath, 0o644); err != nil {
		return err
	}
	if _, err := m.output(ctx, "bash", "-ec", "ldconfig; "+fakeNVMLDirs); err != nil {
		return fmt.Errorf("fake NVML library: %w", err)
	}
	return nil
}

// plugGPUs gives the machine these GPUs and their device nodes, now and at every boot. GPU i must
// have the minor number i.
func (m *Machine) plugGPUs(ctx context.Context, lines []string) error {
	if lines == nil {
		return nil
	}
	var nodes strings.Builder
	nodes.WriteString("C " + FakeNVMLGPUs + " 0644 root root - " + fakeNVMLKept + "\n")
	for i := range lines {
		fmt.Fprintf(&nodes, "c /dev/nvidia%d 0666 root root - 195:%d\n", i, i)
	}
	const rule = "/etc/tmpfiles.d/vm-fakenvml-gpus.conf"
	err := m.WriteFile(ctx, fakeNVMLKept, fakenvml.GPUsText(lines...), 0o644)
	if err == nil {
		err = m.WriteFile(ctx, rule, nodes.String(), 0o644)
	}
	if err == nil {
		_, err = m.output(ctx, "systemd-tmpfiles", "--create", rule)
	}
	if err != nil {
		return fmt.Errorf("fake GPUs: %w", err)
	}
	return nil
}

// InstallPackage installs or upgrades a .deb of the host
// with dpkg -i. An error includes the output of dpkg.
func (m *Machine) InstallPackage(ctx context.Context, debPath string) error {
	guest := "/var/cache/vm/" + filepath.Base(debPath)
	if err := m.CopyIn(ctx, debPath, guest, 0o644); err != nil {
		return err
	}
	if _, err := m.output(ctx, "env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "-i", guest); err != nil {
		return fmt.Errorf("install %s: %w", filepath.Base(debPath), err)
	}
	return nil
}

// startTree does what packaging/install.sh leaves to the administrator.
const startTree = `tar -C / --no-overwrite-dir -xf "$1"
systemd-sysusers
systemd-tmpfiles --create gpusched.conf
systemctl daemon-reload
systemctl enable --now gpusched.socket gpusched.service`

// installTree unpacks a tar of what 'make install' installs, and starts the scheduler.
func (m *Machine) installTree(ctx context.Context, tarPath string) error {
	guest := "/var/cache/vm/" + filepath.Base(tarPath)
	if err := m.CopyIn(ctx, tarPath, guest, 0o644); err != nil {
		return err
	}
	if _, err := m.output(ctx, "bash", "-ec", startTree, "install", guest); err != nil {
		return fmt.Errorf("install %s: %w", filepath.Base(tarPath), err)
	}
	return nil
}
