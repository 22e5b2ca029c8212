package vm

import (
	"context"
	"fmt"
	"path/filepath"
)

// ProvisionOptions names what is put into a machine that runs; all are files on the host, "" leaves that part out.
type ProvisionOptions struct {
	Deb     string // the package under test
	FakeLib string // the fake NVML library
	SimCUDA string // the simulated CUDA program
}

// Where Provision puts things, and where the fake library looks for its GPUs.
const (
	FakeLibPath  = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
	SimCUDAPath  = "/usr/local/bin/simcuda"
	FakeNVMLDir  = "/run/fakenvml"
	FakeNVMLGPUs = FakeNVMLDir + "/gpus" // a line per GPU; absent: the default ones
)

// fakeNVMLDirs makes the fake library's state directory, now and at every boot.
const fakeNVMLDirs = `cat >/etc/tmpfiles.d/vm-fakenvml.conf <<END
d ` + FakeNVMLDir + ` 0755 root root -
d ` + FakeNVMLDir + `/claims 1777 root root -
END
systemd-tmpfiles --create /etc/tmpfiles.d/vm-fakenvml.conf`

// Provision puts the fake NVML library (with its state directory), the simulated CUDA program and the package into a
// machine, the package last, so that its daemon starts with GPUs there. All of it survives reboots; the state
// directory is made anew at each, empty, which means the library's default GPUs: who wants others writes FakeNVMLGPUs.
func Provision(ctx context.Context, m *Machine, opts ProvisionOptions) error {
	if opts.FakeLib != "" {
		if err := m.installFakeLib(ctx, opts.FakeLib); err != nil {
			return err
		}
	}
	if opts.SimCUDA != "" {
		if err := m.CopyIn(ctx, opts.SimCUDA, SimCUDAPath, 0o755); err != nil {
			return err
		}
	}
	if opts.Deb != "" {
		return m.InstallPackage(ctx, opts.Deb)
	}
	return nil
}

func (m *Machine) installFakeLib(ctx context.Context, lib string) error {
	if err := m.CopyIn(ctx, lib, FakeLibPath, 0o644); err != nil {
		return err
	}
	r, err := m.Sh(ctx, "", "set -e; ldconfig; "+fakeNVMLDirs)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return fmt.Errorf("fake NVML library: %w", err)
	}
	return nil
}

// InstallPackage installs or upgrades a .deb of the host by dpkg -i; dpkg's words are in the error.
func (m *Machine) InstallPackage(ctx context.Context, debPath string) error {
	guest := "/var/cache/vm/" + filepath.Base(debPath)
	if err := m.CopyIn(ctx, debPath, guest, 0o644); err != nil {
		return err
	}
	r, err := m.Run(ctx, "", nil, "env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "-i", guest)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return fmt.Errorf("install %s: %w", filepath.Base(debPath), err)
	}
	return nil
}
