//go:build pprof

package main

import (
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // on http.DefaultServeMux, which nothing else serves
	"os"
	"path/filepath"
)

// pprofSocket is where a gpuschedd that was built with '-tags pprof' answers what
// net/http/pprof does: root alone can open it. No package has such a build.
const pprofSocket = "/run/gpusched/pprof.sock"

// servePprof answers there until the process ends.
func servePprof() {
	_ = os.Remove(pprofSocket)
	if err := os.MkdirAll(filepath.Dir(pprofSocket), 0o755); err != nil {
		log.Print("pprof: ", err)
		return
	}
	l, err := net.Listen("unix", pprofSocket)
	if err == nil {
		err = os.Chmod(pprofSocket, 0o600)
	}
	if err == nil {
		err = http.Serve(l, nil)
	}
	log.Print("pprof: ", err)
}
