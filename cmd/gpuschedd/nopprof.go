//go:build !pprof

package main

// servePprof is of builds with '-tags pprof'.
func servePprof() {}
