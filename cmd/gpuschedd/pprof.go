//go:build pprof

package main

import (
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // on http.DefaultServeMux, which serves nothing else
	"os"
	"path/filepath"
)

// A gpuschedd that was built with '-tags pprof' serves net/http/pprof on pprofSocket, which only
// root can open. No package has such a build.
const pprofSocket = "/run/gpusched/pprof.sock"

// servePprof serves net/http/pprof until the process ends.
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
