// Command gpusched-accounts resolves, for gpuschedd, users and groups that are not in /etc/passwd or
// /etc/group. It runs in a unit of its own as an unprivileged user, so that the modules of the name
// service cannot affect the daemon.
package main
