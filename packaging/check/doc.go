// Package check tests what is shipped: the deb and rpm in dist, as 'make package' left them, and
// the files under packaging that no compiler checks.
//
// It has two kinds of tests, each behind a build tag because it needs more than Go. The tag
// packages selects tests that inspect the packages from outside ('make package-check'): lintian,
// rpm's own reading of it, owners and modes, manual pages, completions in the three shells, byte
// for byte reproducibility. The tag machine ('make machine') selects tests that install, upgrade,
// remove and purge the deb on a machine with a real systemd.
//
// They never skip: 'make deps' installs what they need, and without it they fail. They change
// nothing outside of temporary directories and their own machines.
package check
