// Command stage generates the derived files of the
// packages in one directory. nfpm takes them from there:
//
//	gpusched.toml     the default settings, from daemon/config
//	man/man1/*.gz     by 'gpusched __man'
//	man/man5/*.gz     from the keys of daemon/config
//	man/man7/*.gz     by 'gpusched __man', and packaging/man as it is
//	man/man8/*.gz     packaging/man as it is
//	doc/changelog.gz  CHANGELOG.md in Debian's format
//	doc/third-party.gz  the licences of everything that is linked in
//
// It runs in the repository's root on the build machine. The same inputs and the same date give the
// same bytes anywhere, at any time.
package main
