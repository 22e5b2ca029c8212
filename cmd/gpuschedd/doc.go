// Command gpuschedd is the scheduler daemon: it reads its flags, opens its log and
// socket, and hands them to package supervise. It runs as root from
// gpusched.service and listens on the socket of gpusched.socket.
//
// "gpuschedd sim" replays a trace through the same scheduler under a virtual
// clock instead; it needs no right and starts no daemon.
//
// Exit codes: 0 stopped by a signal, 1 something broke, 2 usage or a bad
// configuration.
package main
