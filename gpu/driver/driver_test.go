package driver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpusched/gpusched/gpu"
)

const lib = "/usr/lib/x86_64-linux-gnu"

// The versions of the driver are read below a root directory and compared (invariant 1).
func TestInstalled(t *testing.T) {
	const nvrm = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  (dvs-builder@U16)\n"
	for name, c := range map[string]struct {
		files map[string]string
		links map[string]string
		want  gpu.DriverVersions
		diff  bool
	}{
		"nothing there": {},
		"the same": {
			map[string]string{"/sys/module/nvidia/version": "580.95.05\n", lib + "/libcuda.so.580.95.05": ""},
			map[string]string{lib + "/libcuda.so.1": "libcuda.so.580.95.05"},
			gpu.DriverVersions{Loaded: "580.95.05", Library: lib + "/libcuda.so.1", Installed: "580.95.05"}, false,
		},
		"upgraded": {
			map[string]string{"/sys/module/nvidia/version": "580.95.05\n", lib + "/libcuda.so.580.105.08": ""},
			map[string]string{lib + "/libcuda.so.1": "libcuda.so.580.105.08"},
			gpu.DriverVersions{Loaded: "580.95.05", Library: lib + "/libcuda.so.1", Installed: "580.105.08"}, true,
		},
		"only the management library was upgraded": {
			map[string]string{"/sys/module/nvidia/version": "580.95.05\n", lib + "/libcuda.so.580.95.05": "", lib + "/libnvidia-ml.so.580.105.08": ""},
			map[string]string{lib + "/libcuda.so.1": "libcuda.so.580.95.05", lib + "/libnvidia-ml.so.1": "libnvidia-ml.so.580.105.08"},
			gpu.DriverVersions{Loaded: "580.95.05", Library: lib + "/libnvidia-ml.so.1", Installed: "580.105.08"}, true,
		},
		"an upgrade under way, the link is gone": {
			map[string]string{"/sys/module/nvidia/version": "580.95.05\n", lib + "/libcuda.so.580.105.08": ""},
			nil, gpu.DriverVersions{Loaded: "580.95.05"}, false,
		},
		"no sysfs, and the module's own words": {
			map[string]string{"/proc/driver/nvidia/version": nvrm, "/usr/lib64/libcuda.so.550.90.07": ""},
			map[string]string{"/usr/lib64/libcuda.so.1": "libcuda.so.550.90.07"},
			gpu.DriverVersions{Loaded: "550.54.15", Library: "/usr/lib64/libcuda.so.1", Installed: "550.90.07"}, true,
		},
		"a library without a version in its name": {
			map[string]string{"/sys/module/nvidia/version": "580.95.05\n", "/usr/lib64/libcuda.so.1": ""},
			nil, gpu.DriverVersions{Loaded: "580.95.05", Library: "/usr/lib64/libcuda.so.1"}, false,
		},
		"a library whose name has the number of an interface, as on Jetson and WSL": {
			map[string]string{"/sys/module/nvidia/version": "540.4.0\n", lib + "/libcuda.so.1.1": ""},
			map[string]string{lib + "/libcuda.so.1": "libcuda.so.1.1"},
			gpu.DriverVersions{Loaded: "540.4.0", Library: lib + "/libcuda.so.1"}, false,
		},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(root+path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for path, target := range c.links {
			if err := os.Symlink(target, root+path); err != nil {
				t.Fatal(err)
			}
		}
		if got := Installed(root); got != c.want || got.Differ() != c.diff {
			t.Errorf("%s: %+v differs %v, want %+v, %v", name, got, got.Differ(), c.want, c.diff)
		}
	}
}
