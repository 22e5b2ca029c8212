// Package check holds the tests of what is shipped: the deb and rpm in dist,
// as 'make package' left them, and the files under packaging that no compiler
// looks at.
//
// It has two kinds of tests, each behind a build tag because it needs more
// than Go. Those tagged packages look at the packages from outside ('make
// package-check'): lintian, rpm's own reading of it, owners and modes, manual
// pages, completions in the three shells, byte for byte reproducibility. Those
// tagged machine ('make machine') install, upgrade, remove and purge the deb on
// a machine with a real systemd.
//
// They never skip: what they need is what 'make deps' installs, and without it
// they fail. They change nothing outside of temporary directories and machines
// of their own.
package check
