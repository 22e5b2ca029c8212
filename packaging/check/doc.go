// Package check tests the shipped files: the deb and rpm that 'make package' left in dist, and the
// files under packaging that no compiler checks.
//
// There are two kinds of tests. Each kind has a build tag, because its tests need more than Go. The
// tag packages selects tests that inspect the packages from outside ('make package-check'):
// lintian, rpm's own view of the rpm, owners and modes, manual pages, completions in the three
// shells, and byte for byte reproducibility. The tag machine ('make machine') selects tests that
// install, upgrade, remove and purge the deb on a machine with a real systemd.
//
// The tests never skip. 'make deps' installs what they need; if something is missing, they fail.
// They change nothing outside temporary directories and the machines that they boot.
package check
