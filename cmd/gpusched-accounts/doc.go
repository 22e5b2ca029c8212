// Command gpusched-accounts tells gpuschedd the names and numbers of accounts and
// groups that /etc/passwd and /etc/group do not have. It runs in a unit of its own,
// as nobody in particular: what the modules of the name service do there is of no
// matter to the daemon.
package main
