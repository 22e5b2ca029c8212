package driver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/gpu"
)

// Installed reads the versions below root, "" for this machine. It looks for the libraries where
// distributions install them, in the order in which the loader of a job would find them.
func Installed(root string) gpu.DriverVersions {
	v := gpu.DriverVersions{Loaded: loadedVersion(root)}
	for _, library := range []string{"libcuda.so.1", "libnvidia-ml.so.1"} {
		for _, dir := range libraryDirs() {
			target, err := filepath.EvalSymlinks(root + dir + "/" + library)
			if err != nil {
				continue
			}
			version := versionOf(filepath.Base(target))
			if v.Installed == "" || version != "" && version != v.Loaded {
				v.Library, v.Installed = dir+"/"+library, version
			}
			break // the loader takes the first
		}
		if v.Differ() {
			break
		}
	}
	return v
}

// HasCUDA reports whether libcuda.so.1 is installed below root.
func HasCUDA(root string) bool {
	return slices.ContainsFunc(libraryDirs(), func(dir string) bool {
		_, err := os.Stat(root + dir + "/libcuda.so.1")
		return err == nil
	})
}

func libraryDirs() []string {
	return []string{
		"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
		"/usr/lib/x86_64-linux-gnu/nvidia/current",
	}
}

// loadedVersion returns the version of the kernel module; "" if none is loaded or it can't be read.
func loadedVersion(root string) string {
	if text, err := os.ReadFile(root + "/sys/module/nvidia/version"); err == nil {
		return strings.TrimSpace(string(text))
	}
	text, _ := os.ReadFile(root + "/proc/driver/nvidia/version")
	_, after, _ := strings.Cut(string(text), "Kernel Module")
	words := strings.Fields(after)
	if at := slices.IndexFunc(words, isVersion); at >= 0 {
		return words[at]
	}
	return ""
}

// versionOf returns the version in the name of a library's file, such as libcuda.so.550.54.15; ""
// if there is none.
func versionOf(file string) string {
	_, version, _ := strings.Cut(file, ".so.")
	if !isVersion(version) {
		return ""
	}
	return version
}

// isVersion reports whether a word is a driver's version, such as 550.54.15. The first number of a
// driver's version has three digits. libcuda.so.1.1, the name on Jetson and WSL, contains no
// version.
func isVersion(word string) bool {
	major, _, parts := strings.Cut(word, ".")
	return parts && len(major) >= 3 && strings.Trim(word, "0123456789.") == ""
}
