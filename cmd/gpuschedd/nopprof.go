//go:build !pprof

package main

// servePprof does something only in a build with '-tags pprof'.
func servePprof() {}
