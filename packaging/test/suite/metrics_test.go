//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// scrape sends a request to the metrics port as bob and returns the answer. The arguments are a
// request line and a Host header.
func scrape(t *testing.T, request, host string) string {
	t.Helper()
	return sh(t, "bob", fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/127.0.0.1/9836; printf "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" >&3; cat <&3'`, request, host))
}

// TestMetrics: the metrics exports are off until an administrator enables them. They reveal nothing
// about a job, and their units have hardly any rights.
func TestMetrics(t *testing.T) {
	begin(t)
	wait(t, submit(t, "alice", "--name quiet-name -g 1 -- true"))
	page := sh(t, "bob", "gpusched metrics")
	for _, line := range []string{"gpusched_up 1", `gpusched_gpu_info{gpu="0",`, `gpusched_health{part="state",state="healthy"} 1`, "# EOF"} {
		if !strings.Contains(page, "\n"+line) {
			t.Errorf("the page lacks %q:\n%s", line, page)
		}
	}
	if strings.Contains(page, "quiet-name") || strings.Contains(page, "alice") {
		t.Errorf("the page tells about a job:\n%s", page)
	}
	const units = "gpusched-metrics.socket gpusched-textfile.timer gpusched-job-mapping.service"
	if r := try(t, "", "systemctl is-active "+units+"; systemctl is-enabled "+units); strings.Contains(r.Stdout, "\nactive") || strings.Contains(r.Stdout, "enabled") {
		t.Errorf("the units are on before they are enabled:\n%s", r.Stdout)
	}
	const dropIn = "/run/systemd/system/gpusched-job-mapping.service.d"
	t.Cleanup(func() {
		try(t, "", "systemctl stop gpusched-metrics.service "+units+"; rm -rf /var/lib/prometheus "+dropIn+"; systemctl daemon-reload")
	})
	sh(t, "", "mkdir -p "+dropIn+" /var/lib/prometheus/node-exporter; (printf '[Service]\nExecStart=\n'; sed -n 's/^ExecStart=.*/& --every 1s/p' "+
		"$(systemctl show -P FragmentPath gpusched-job-mapping.service)) >"+dropIn+"/soon.conf; systemctl daemon-reload; systemctl start "+units)
	theTextfile(t)
	theMapping(t)
	thePort(t)
	for unit, most := range map[string]int{"gpusched-metrics": 5, "gpusched-textfile": 10, "gpusched-job-mapping": 5} {
		if r := try(t, "", fmt.Sprintf("systemd-analyze security --no-pager --threshold=%d %s.service", most, unit)); r.Code != 0 {
			t.Errorf("%s is exposed above %d.%d:\n%s", unit, most/10, most%10, r.Stdout)
		} else {
			t.Log(unit, r.Stdout[strings.LastIndex(r.Stdout, "→"):])
		}
	}
}

// theTextfile checks that the textfile is complete and that every user can read it.
func theTextfile(t *testing.T) {
	t.Helper()
	const file = "/var/lib/prometheus/node-exporter/gpusched.prom"
	poll(t, "node_exporter's file is there", func() bool { return try(t, "bob", "grep -x 'gpusched_up 1' "+file).Code == 0 })
	if got := sh(t, "", "stat -c %a "+file+"; ls -A /var/lib/prometheus/node-exporter"); got != "644\ngpusched.prom" {
		t.Errorf("the file and its directory are %s", got)
	}
}

// theMapping checks that the mapping shows a job on its GPU while the job has the GPU, and no
// longer.
func theMapping(t *testing.T) {
	t.Helper()
	id := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, id)
	const dir = "/run/gpusched-job-mapping/gpus"
	poll(t, "the job is on its GPU", func() bool { return try(t, "bob", fmt.Sprintf("grep -rx %d %s", id, dir)).Code == 0 })
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", id))
	wait(t, id)
	poll(t, "no job is on any GPU", func() bool { return try(t, "bob", "cat "+dir+"/* | grep .").Code != 0 })
	if got := sh(t, "", "ls "+dir); got != "0\n1\n2\n3" {
		t.Errorf("the files are\n%s", got)
	}
}

// thePort checks that the port accepts only connections over loopback, requests for /metrics, and
// its own names in the header Host.
func thePort(t *testing.T) {
	t.Helper()
	if page := scrape(t, "GET /metrics", "localhost:9836"); !strings.HasPrefix(page, "HTTP/1.1 200 ") || !strings.Contains(page, "\ngpusched_up 1") {
		t.Errorf("the page is\n%s", page)
	}
	for request, want := range map[string]string{
		"GET /metrics evil.example": "403", "GET /v1/jobs localhost": "404", "POST /v1/jobs localhost": "404", "POST /metrics localhost": "405",
	} {
		line, host := request[:strings.LastIndex(request, " ")], request[strings.LastIndex(request, " ")+1:]
		if got := scrape(t, line, host); !strings.HasPrefix(got, "HTTP/1.1 "+want) || strings.Contains(got, "gpusched_up") {
			t.Errorf("%s: not %s:\n%.300s", request, want, got)
		}
	}
	if got := sh(t, "", `awk '$4 == "0A" && $2 ~ /:266C$/ {print $2}' /proc/net/tcp /proc/net/tcp6`); got != "0100007F:266C" {
		t.Errorf("it listens at %s", got)
	}
	pid := sh(t, "", "systemctl show -P MainPID gpusched-metrics.service")
	status := sh(t, "", `awk '/^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):/ {print $1, $2}' /proc/`+pid+"/status")
	for _, want := range []string{"CapEff: 0000000000000000", "CapBnd: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2"} {
		if !strings.Contains(status, want) {
			t.Errorf("the program holds\n%s", status)
		}
	}
	if strings.Contains(status, "Uid: 0\n") {
		t.Errorf("the program is root:\n%s", status)
	}
	if sh(t, "", "readlink /proc/"+pid+"/ns/net") == sh(t, "", "readlink /proc/1/ns/net") {
		t.Error("the program has a network")
	}
	if r := try(t, "", "touch /proc/"+pid+"/root/run/written /proc/"+pid+"/root/var/lib/written"); r.Code == 0 || strings.Count(r.Stderr, "Read-only") != 2 {
		t.Errorf("the program's root can be written: %s", r.Stderr)
	}
}
