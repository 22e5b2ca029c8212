package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

const (
	guestLibraryDir = "/usr/lib/x86_64-linux-gnu"
	guestNvidiaSMI  = "/usr/bin/nvidia-smi"
	fakeNodesRule   = "/etc/tmpfiles.d/vm-nvidia.conf" // the image's rule that creates the nodes of invariant 7
)

// driverLibrary matches the libraries of NVML and CUDA, and the libraries that these libraries
// load, of any driver version.
var driverLibrary = regexp.MustCompile(`^lib(cuda|cudadebugger|nvidia-(ml|ptxjitcompiler|gpucomp|` +
	`nvvm|nvvm70|tileiras|sandboxutils|pkcs11|pkcs11-openssl3))\.so\.`)

// hostDriver is the host's NVIDIA driver.
type hostDriver struct {
	devices   []string          // paths of the character devices
	libraries map[string]string // file of each library, by the library's name
	smi       string            // path of nvidia-smi; "" if there is none
}

// switches returns the options of systemd-nspawn that add the driver to a box. The options also
// hide the image's rule for fake nodes at every boot. If the driver is incomplete, switches returns
// an error that names everything that is missing.
func (d hostDriver) switches() ([]string, error) {
	var missing []string
	if !slices.Contains(d.devices, "/dev/nvidiactl") {
		missing = append(missing, "/dev/nvidiactl")
	}
	for _, name := range []string{"libcuda.so.1", "libnvidia-ml.so.1"} {
		if d.libraries[name] == "" {
			missing = append(missing, name)
		}
	}
	if d.smi == "" {
		missing = append(missing, "nvidia-smi")
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the host lacks %s: install and load NVIDIA's driver to give a box its GPUs",
			strings.Join(missing, ", "))
	}
	out := []string{"--bind-ro=/dev/null:" + fakeNodesRule, bindReadOnly(d.smi, guestNvidiaSMI)}
	for _, path := range d.devices {
		out = append(out, "--bind="+path)
	}
	for _, name := range slices.Sorted(maps.Keys(d.libraries)) {
		out = append(out, bindReadOnly(d.libraries[name], guestLibraryDir+"/"+name))
	}
	return out, nil
}

// bindReadOnly returns the option that mounts one file read-only. It escapes the colons in the
// host's path.
func bindReadOnly(host, guest string) string {
	return "--bind-ro=" + strings.ReplaceAll(host, ":", `\:`) + ":" + guest
}

// hostLibraries returns the file of each library of the driver, by the library's name. The argument
// cache is the output of "ldconfig -p". The argument list is a function that lists a directory:
// CUDA loads some files by a name with a version, which ldconfig does not print. If several files
// have one name, hostLibraries returns the first, as the linker does.
func hostLibraries(cache string, list func(dir string) []string) map[string]string {
	found := map[string]string{}
	add := func(path string) {
		if name := filepath.Base(path); driverLibrary.MatchString(name) && found[name] == "" {
			found[name] = path
		}
	}
	for line := range strings.Lines(cache) {
		if before, path, ok := strings.Cut(strings.TrimSpace(line), " => "); ok && strings.Contains(before, "x86-64") {
			add(path)
		}
	}
	for _, name := range []string{"libcuda.so.1", "libnvidia-ml.so.1"} {
		if path, ok := found[name]; ok {
			for _, beside := range list(filepath.Dir(path)) {
				add(beside)
			}
		}
	}
	return found
}

// lookAtDriver finds the host's driver.
func lookAtDriver(ctx context.Context) (hostDriver, error) {
	cache, err := await.Output(ctx, time.Minute, []string{"ldconfig", "-p"})
	if err != nil {
		return hostDriver{}, fmt.Errorf("the host's GPUs: %w", err)
	}
	d := hostDriver{libraries: hostLibraries(cache, func(dir string) []string {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		beside, _ := filepath.Glob(dir + "/lib*.so.*") // cannot fail: the pattern is valid
		return beside
	})}
	maps.DeleteFunc(d.libraries, func(name, path string) bool {
		real, err := filepath.EvalSymlinks(path)
		d.libraries[name] = real
		return err != nil // the file is a dangling link
	})
	if path, err := exec.LookPath("nvidia-smi"); err == nil {
		if d.smi, err = filepath.EvalSymlinks(path); err != nil {
			return hostDriver{}, fmt.Errorf("the host's GPUs: %w", err)
		}
	}
	d.devices, err = nvidiaDevices()
	return d, err
}

// nvidiaDevices returns the character devices /dev/nvidia*, and the character devices in
// directories with such names.
func nvidiaDevices() ([]string, error) {
	var devices []string
	for _, pattern := range []string{"/dev/nvidia*", "/dev/nvidia*/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			info, err := os.Lstat(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("the host's GPUs: %w", err)
			}
			if info.Mode()&fs.ModeCharDevice != 0 {
				devices = append(devices, path)
			}
		}
	}
	return devices, nil
}
