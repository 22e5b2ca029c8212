package main

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/packaging/test/vm"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		kind  vm.Kind
		argv  []string
		gpus  int // number of GPU lines in the request; only islands have such lines
		fake  bool
		suite vm.Suite
		more  []string // further packages in the image
		host  bool
		verb  string
		bad   bool
	}{
		{name: "a shell", args: []string{"box"}, kind: vm.Box},
		{name: "a command", args: []string{"emulated", "--", "ls", "-l"}, kind: vm.Emulated, argv: []string{"ls", "-l"}},
		{name: "a command's own dashes", args: []string{"box", "--", "--", "-kvm"}, kind: vm.Box, argv: []string{"--", "-kvm"}},
		{name: "switches first", args: []string{"-slurm", "box", "true"}, more: vm.SlurmPackages(), kind: vm.Box, argv: []string{"true"}},
		{name: "engines", args: []string{"-containers", "-suite", "trixie", "box"}, more: vm.ContainerPackages(vm.Trixie), kind: vm.Box, suite: vm.Trixie},
		{name: "GPUs", args: []string{"-fake-gpus", "box"}, kind: vm.Box, fake: true},
		{name: "islands of GPUs", args: []string{"-fake-gpus=islands", "box"}, kind: vm.Box, fake: true, gpus: 8},
		{name: "another suite", args: []string{"-suite", "trixie", "box"}, kind: vm.Box, suite: vm.Trixie},
		{name: "a file to copy", args: []string{"-copy", "/a:b", "box"}, kind: vm.Box},
		{name: "a file to copy, to nowhere", args: []string{"-copy", "/a:", "box"}, bad: true},
		{name: "no such suite", args: []string{"-suite", "potato", "box"}, bad: true},
		{name: "no GPUs", args: []string{"-fake-gpus=false", "box"}, kind: vm.Box},
		{name: "other GPUs", args: []string{"-fake-gpus=many", "box"}, bad: true},
		{name: "the host's GPUs", args: []string{"-host-gpus", "box"}, kind: vm.Box, host: true},
		{name: "the host's GPUs and others", args: []string{"-host-gpus", "-fake-gpus", "box"}, bad: true},
		{name: "the demo", args: []string{"-deb", "x.deb", "demo"}, kind: vm.Box, fake: true, verb: "demo"},
		{name: "the demo of what was built", args: []string{"-tree", "x.tar", "demo"}, kind: vm.Box, fake: true, verb: "demo"},
		{name: "the demo of both", args: []string{"-deb", "x.deb", "-tree", "x.tar", "demo"}, bad: true},
		{name: "the demo elsewhere", args: []string{"-deb", "x.deb", "demo", "emulated"}, kind: vm.Emulated, fake: true, verb: "demo"},
		{name: "the demo of nothing", args: []string{"demo"}, bad: true},
		{name: "the demo on the host's GPUs", args: []string{"-deb", "x.deb", "-host-gpus", "demo"}, bad: true},
		{name: "the demo in the cloud", args: []string{"-deb", "x.deb", "demo", "cloud"}, bad: true},
		{name: "the demo and more", args: []string{"-deb", "x.deb", "demo", "box", "--"}, bad: true},
		{name: "an image", args: []string{"-suite", "sid", "image"}, kind: vm.Box, suite: vm.Sid, verb: "image"},
		{name: "Slurm's image", args: []string{"-slurm", "image"}, kind: vm.Box, more: vm.SlurmPackages(), verb: "image"},
		{name: "another image", args: []string{"image", "emulated"}, kind: vm.Emulated, verb: "image"},
		{name: "no kind", args: nil, bad: true},
		{name: "another kind", args: []string{"cloud"}, bad: true},
		{name: "an unknown switch", args: []string{"-gpu", "box"}, bad: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := parse(c.args)
			if (err != nil) != c.bad {
				t.Fatalf("error %v", err)
			}
			if err == nil && (r.kind != c.kind || !slices.Equal(r.argv, c.argv) || r.fakeGPUs != c.fake || len(r.gpus) != c.gpus || r.opts.Suite != c.suite ||
				!slices.Equal(r.opts.Packages, c.more) ||
				r.opts.HostGPUs != c.host || r.demo != (c.verb == "demo") || r.image != (c.verb == "image")) {
				t.Errorf("%+v, want %+v", r, c)
			}
		})
	}
}
