// Command gpuschedd is the scheduler daemon. It reads its flags, opens its
// log and its socket, and gives them to package supervise. It runs as root
// from gpusched.service and listens on the socket of gpusched.socket.
//
// "gpuschedd sim" replays a trace through the same scheduler under a virtual clock. It needs no
// rights and starts no daemon.
//
// Exit codes: 0 ended by a signal, 1 an error, 2 wrong usage or an invalid configuration.
package main
