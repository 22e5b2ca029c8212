// Command stage makes the files of the package that are made from something
// else, into one directory from which nfpm takes them:
//
//	gpusched.toml     the default settings, from daemon/config
//	man/man1/*.gz     by 'gpusched __man'
//	man/man5/*.gz     from the keys of daemon/config
//	man/man7/*.gz     by 'gpusched __man', and packaging/man as it is
//	man/man8/*.gz     packaging/man as it is
//	doc/changelog.gz  CHANGELOG.md in Debian's form
//	doc/third-party.gz  the licences of everything that is linked in
//
// It runs from the repository's root, on the machine that builds. The same
// inputs and date give the same bytes, wherever and whenever it runs.
package main
