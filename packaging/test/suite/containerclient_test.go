//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestInContainerMissing: a submission and the doctor both say what is missing for images. The real
// Podman of this system gives the answers.
func TestInContainerMissing(t *testing.T) {
	beginContainer(t, "podman")
	refused := func(user, options, want string) {
		t.Helper()
		if r := try(t, user, "gpusched submit "+options+" -- true"); r.Code == 0 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: exit %d, %q instead of %q", options, r.Code, r.Stderr, want)
		}
	}
	without := func(path string, test func()) {
		t.Helper()
		sh(t, "", "mv "+path+" "+path+".away")
		defer sh(t, "", "mv "+path+".away "+path)
		test()
	}
	refused("alice", "-g 1 --image nosuch", `there is no image "nosuch" here, and Podman is not configured to search registries`)
	refused("alice", "-g 1 --image localhost/nosuch", "no registry has images of this machine ('podman images' lists those that are here)")
	refused("alice", "-g 1 --image x.sif", "Apptainer is not installed on this machine (--image)")
	refused("alice", "-g 1 --image box --image-arg=--cgroup-parent=x.slice", "gpusched sets --cgroup-parent of the engine itself")
	without("/usr/bin/crun", func() {
		refused("alice", "-g 1 --image box", "ask an administrator to install it, such as with 'apt install crun'")
		out := sh(t, "alice", "gpusched doctor -o wide || true")
		if !strings.Contains(out, "Podman needs crun in jobs, and it is not installed") {
			t.Errorf("doctor prints\n%s", out)
		}
	})
	without("/usr/bin/newuidmap", func() { refused("alice", "-g 1 --image box", "such as with 'apt install uidmap'") })
	without("/etc/subuid", func() { refused("alice", "-g 1 --image box", "your account has no subordinate ids in /etc/subuid") })
	without("/etc/cdi/nvidia.yaml", func() {
		refused("alice", "-g 1 --image box", "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml")
		sh(t, "alice", "gpusched submit --dry-run -g 0 --image box -- true")
	})
	without("/usr/bin/podman", func() {
		refused("alice", "-g 1 --image box", "ask an administrator to install podman, crun and uidmap")
	})
	if out := sh(t, "alice", "gpusched doctor -o wide || true"); !strings.Contains(out, "it can run images in jobs") {
		t.Errorf("doctor prints\n%s", out)
	}
	const dropIn = "/etc/gpusched/conf.d/90-suite.toml"
	sh(t, "", "mkdir -p /etc/gpusched/conf.d; printf '[containers]\\nengines = []\\n' >"+dropIn+"; systemctl reload gpusched")
	defer sh(t, "", "rm -f "+dropIn+"; systemctl reload gpusched")
	refused("alice", "-g 1 --image box", "this site does not run images (--image)")
}

// TestInContainerPull: if an image is not on the machine, the submission says so. If the job then
// can't pull the image, the job's result and output name this cause.
func TestInContainerPull(t *testing.T) {
	beginContainer(t, "podman")
	r := try(t, "alice", "gpusched submit -q -g 1 --image 127.0.0.1:1/no/image -- true")
	if r.Code != 0 || !strings.Contains(r.Stderr, "the image 127.0.0.1:1/no/image is not here yet: the job pulls it when it starts") {
		t.Fatalf("exit %d: %s", r.Code, r.Stderr)
	}
	var id int64
	if _, err := fmt.Sscan(r.Stdout, &id); err != nil {
		t.Fatal(err)
	}
	j := wait(t, id)
	shown := sh(t, "alice", fmt.Sprintf("gpusched show %d", id))
	printed := sh(t, "alice", fmt.Sprintf("gpusched logs %d", id))
	if j.State != "failed" || !strings.Contains(shown, "could not start: its image could not be pulled") || !strings.Contains(shown, "127.0.0.1:1/no/image (podman)") ||
		!strings.Contains(printed, `its image "127.0.0.1:1/no/image" could not be pulled`) {
		t.Errorf("%+v\n%s\n%s", j.Result, shown, printed)
	}
}

// TestInContainerKinds: jobs that are queued in other ways run in an image, too: a script with
// options, lines of a file, a job that is queued again, and a shell.
func TestInContainerKinds(t *testing.T) {
	beginContainer(t, "podman")
	sh(t, "alice", `cd; printf '#!/bin/sh\n#GPUSCHED -g 1 --image box --mount /srv:/data:ro\ncat /etc/image; id -u; touch /data/x\n' >job.sh
printf -- '-g 1 --image box -- cat /etc/image\n' >lines`)
	id := submit(t, "alice", "job.sh")
	if j := wait(t, id); j.State != "failed" {
		t.Errorf("%+v", j.Result)
	}
	again := strings.Fields(sh(t, "alice", fmt.Sprintf("gpusched resubmit -o ids %d; gpusched submit -o ids --file lines", id)))
	for i, want := range []string{"box\n0\ntouch: /data/x: Read-only file system", "box"} {
		var next int64
		if _, err := fmt.Sscan(again[i], &next); err != nil {
			t.Fatal(err)
		}
		wait(t, next)
		if got := sh(t, "alice", fmt.Sprintf("gpusched logs %d", next)); !strings.HasPrefix(got, want) {
			t.Errorf("job %d prints %q, want %q", next, got, want)
		}
	}
	r := try(t, "alice", `(sleep 2; printf 'cat /etc/image; exit 3\r'; sleep 20) | script -qec 'gpusched shell -g 1 --image box' /dev/null`)
	if r.Code != 3 || !strings.Contains(r.Stdout, "\nbox\r") {
		t.Errorf("the shell ends with %d: %q", r.Code, r.Stdout)
	}
}
