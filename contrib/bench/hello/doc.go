// Command hello is what a Go program takes that does nothing: contrib/bench compares the client with it.
package main
