package gpu

import (
	"strconv"
	"strings"
)

// DriverVersions are the versions of the driver's kernel module and of its library. They differ
// after an upgrade without a reboot. In that case running programs continue, but each new CUDA
// program fails (error 803).
type DriverVersions struct {
	Loaded    string // of the kernel module; "": unknown
	Library   string // path of the library whose version is Installed
	Installed string // of the library that a new program loads; "": unknown
}

// Differ reports whether both versions are known and are not the same.
func (v DriverVersions) Differ() bool {
	return v.Loaded != "" && v.Installed != "" && v.Loaded != v.Installed
}

// DriverMajor returns the first number of a driver's version, or 0 if it has none.
func DriverMajor(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(major)
	return n
}
