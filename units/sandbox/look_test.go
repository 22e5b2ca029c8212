package sandbox

import (
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// directory imitates the directory of a process. Each read of the file status uses up one text.
type directory struct {
	statuses []string
	limits   string
	stat     string
	links    map[string]string
	label    string
	net      uint64
	mounts   string

	forbidden bool   // its links can't be read
	users     string // its table of uids
}

func (d *directory) ReadFile(name string) ([]byte, error) {
	switch {
	case name == "limits" && d.limits != "":
		return []byte(d.limits), nil
	case name == "stat" && d.stat != "":
		return []byte(d.stat), nil
	case name == "attr/apparmor/current" && d.label != "":
		return []byte(d.label), nil
	case name == "mountinfo" && d.mounts != "":
		return []byte(d.mounts), nil
	case name == "uid_map" && d.users != "":
		return []byte(d.users), nil
	case name == "status" && len(d.statuses) > 0:
		text := d.statuses[0]
		d.statuses = d.statuses[1:]
		return []byte(text), nil
	}
	return nil, os.ErrNotExist
}

func (d *directory) Inode(name string) uint64 {
	if name == netOf {
		return d.net
	}
	return 0
}

func (d *directory) Readlink(name string) (string, error) {
	if d.forbidden {
		return "", os.ErrPermission
	}
	if to := d.links[name]; to != "" {
		return to, nil
	}
	return "", os.ErrNotExist
}

// statOf is /proc/PID/stat of a process that began a minute after the boot and has an odd name.
const statOf = "7 (x) y) S 1 7 7 0 -1 4194304 1 1 0 0 0 0 0 0 20 0 1 0 6000 0 0 18446744073709551615\n"

var ourNamespaces = map[string]string{"ns/user": "user:[1]", "ns/pid": "pid:[2]"}

// statusOf returns /proc/PID/status with these uids and further lines.
func statusOf(uids string, more ...string) string {
	return "Name:\tx\nState:\tS (sleeping)\nUid:\t" + uids + "\nGid:\t5 5 5 5\n" + strings.Join(more, "\n")
}

const twoLimits = "Limit                     Soft Limit           Hard Limit           Units\n"

// Invariant 1: the result has the limits of the submitter, or is an error.
func TestProcessIsTheSubmitters(t *testing.T) {
	mine := statusOf("1001\t1001\t1001\t1001")
	for name, c := range map[string]struct {
		change func(*directory)
		want   error
	}{
		"own process":                  {func(*directory) {}, nil},
		"already gone":                 {func(d *directory) { d.statuses = nil }, ErrGone},
		"gone while reading":           {func(d *directory) { d.statuses = d.statuses[:1] }, ErrGone},
		"gone before its limits":       {func(d *directory) { d.limits = "" }, ErrGone},
		"no stat":                      {func(d *directory) { d.stat = "" }, ErrGone},
		"a stat of something else":     {func(d *directory) { d.stat = "7 (x) S 1" }, ErrGone},
		"no stat at all":               {func(d *directory) { d.stat = "7" }, ErrGone},
		"only threads of it are left":  {func(d *directory) { d.statuses[1] = strings.Replace(mine, "S (sleeping)", "Z (zombie)", 1) }, ErrGone},
		"its number is another's":      {func(d *directory) { d.stat = strings.Replace(statOf, " 6000 ", " 6201 ", 1) }, ErrAnother},
		"began as it connected":        {func(d *directory) { d.stat = strings.Replace(statOf, " 6000 ", " 6200 ", 1) }, nil},
		"number passed to root before": {func(d *directory) { d.statuses[0] = statusOf("0\t0\t0\t0") }, ErrOthers},
		"became root meanwhile":        {func(d *directory) { d.statuses[1] = statusOf("0\t0\t0\t0") }, ErrOthers},
		"in the middle of su":          {func(d *directory) { d.statuses[0] = statusOf("1001\t0\t0\t0") }, ErrOthers},
		"saved uid of another":         {func(d *directory) { d.statuses[0] = statusOf("1001\t1001\t0\t1001") }, ErrOthers},
		"short line":                   {func(d *directory) { d.statuses[0] = statusOf("1001") }, ErrOthers},
		"no line":                      {func(d *directory) { d.statuses[0] = "Name:\tx\n" }, ErrOthers},
	} {
		d := &directory{statuses: []string{mine, mine}, limits: twoLimits, stat: statOf, links: ourNamespaces}
		c.change(d)
		p, err := readProcess(d, &directory{links: ourNamespaces}, status{}, Peer{PID: 7, UID: 1001, Seen: 62 * time.Second})
		if err != c.want || err == nil && (p.Limits != twoLimits || p.Restricted != "") {
			t.Errorf("%s: %+v, %v, want %v", name, p, err, c.want)
		}
	}
	for _, pid := range []int{0, -1} {
		if _, err := Look(Peer{PID: pid, UID: os.Getuid(), Seen: SinceBoot()}, ownReference(t)); err == nil {
			t.Error("a process without a number has limits")
		}
	}
}

// Restrictions that the reference does not have are reported (invariant 2). Restrictions that all
// processes in a container have are not.
func TestSandboxIsNoticed(t *testing.T) {
	inContainer := parseStatus("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\nCapBnd:\t00000000a80425fb\n")
	inContainer.label = "docker-default (enforce)"
	host := status{bounding: 0x1ff_ffff_ffff, label: "unconfined"}
	full := "CapBnd:\t000001ffffffffff\n"
	elsewhere := map[string]string{"ns/user": "user:[9]", "ns/pid": "pid:[9]"}
	for name, c := range map[string]struct {
		lines string
		first status
		links map[string]string
		label string
		want  string
	}{
		"nothing":                      {full + "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0", host, ourNamespaces, "unconfined\n", ""},
		"no new privileges":            {full + "NoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0", host, ourNamespaces, "unconfined", "no_new_privs"},
		"a filter":                     {"NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1", status{}, ourNamespaces, "", "has a filter of system calls (seccomp)"},
		"an old kernel's filter":       {"NoNewPrivs:\t0\nSeccomp:\t2", status{}, ourNamespaces, "", "has a filter of system calls (seccomp)"},
		"strict":                       {"NoNewPrivs:\t0\nSeccomp:\t1", status{}, ourNamespaces, "", "has a filter of system calls (seccomp)"},
		"as all of a container":        {"NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\nCapBnd:\t00000000a80425fb", inContainer, ourNamespaces, "docker-default (enforce)", ""},
		"more than all of a container": {"NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2", inContainer, ourNamespaces, "", "has a filter of system calls (seccomp)"},
		"more capabilities":            {full, inContainer, ourNamespaces, "unconfined", ""},
		"no capabilities":              {"CapBnd:\t0000000000000000", host, ourNamespaces, "unconfined", "CapBnd"},
		"one capability is missing":    {"CapBnd:\t000001ffffdfffff", host, ourNamespaces, "unconfined", "CapBnd"},
		"no line of capabilities":      {"", host, ourNamespaces, "unconfined", "CapBnd"},
		"a profile":                    {full, host, ourNamespaces, "agent (enforce)\n", "AppArmor profile (agent (enforce))"},
		"stacked profiles":             {full, host, ourNamespaces, "agent//&unconfined (mixed)", "AppArmor"},
		"a profile that kills":         {full, host, ourNamespaces, "agent (kill)", "AppArmor"},
		"a profile that complains":     {full, host, ourNamespaces, "snap.code.code (complain)", ""},
		"a profile that is a name":     {full, host, ourNamespaces, "vscode (unconfined)", ""},
		"a label that can't be read":   {full, host, ourNamespaces, "", "AppArmor"},
		"users":                        {"", status{}, map[string]string{"ns/user": "user:[9]", "ns/pid": "pid:[2]"}, "", "is in another user namespace"},
		"pids":                         {"", status{}, map[string]string{"ns/user": "user:[1]", "ns/pid": "pid:[9]"}, "", "is in another pid namespace"},
		"both":                         {"", status{}, elsewhere, "", "is in another user namespace"},
		"nobody tells":                 {"", status{}, nil, "", "is in another user namespace"},
	} {
		mine := statusOf("1001\t1001\t1001\t1001", c.lines)
		d := &directory{statuses: []string{mine, mine}, limits: twoLimits, stat: statOf, links: c.links, label: c.label}
		p, err := readProcess(d, &directory{links: ourNamespaces}, c.first, Peer{PID: 7, UID: 1001, Seen: time.Hour})
		if err != nil || c.want == "" && p.Restricted != "" || !strings.Contains(p.Restricted, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, p.Restricted, err, c.want)
		}
	}
}

// The links of a process that has more capabilities than this one, or another group, can't be read.
// Its tables of ids are compared instead. If they differ, the process is in another user namespace,
// which is a restriction (invariant 3).
func TestLinksThatCantBeRead(t *testing.T) {
	const machine = "         0          0 4294967295\n"
	const wake = "CapPrm:\t0000000800000000\n"
	const child = "         0       1001          1\n"
	const none = "CapPrm:\t0000000000000000\n"
	for name, c := range map[string]struct {
		lines, users string
		want         string
		gids         string // "": the same as this process
	}{
		"a session with CAP_WAKE_ALARM": {wake + "NSpid:\t7", machine, "", ""},
		"nothing more than we have":     {none + "NSpid:\t7", machine, "user", ""},
		"other users":                   {wake + "NSpid:\t7", child, "user", ""},
		"a table that can't be read":    {wake + "NSpid:\t7", "", "user", ""},
		"a further pid namespace":       {wake + "NSpid:\t7\t1", machine, "pid", ""},
		"an old kernel":                 {wake, machine, "pid", ""},
		"a shell of newgrp":             {none + "NSpid:\t7", machine, "", "8 8 8 8"},
		"other users, after newgrp":     {none + "NSpid:\t7", child, "user", "8 8 8 8"},
		"further pids, after newgrp":    {none + "NSpid:\t7\t1", machine, "pid", "8 8 8 8"},
		"in a program of that group":    {none + "NSpid:\t7", machine, "", "5 8 8 8"},
	} {
		mine := statusOf("1001\t1001\t1001\t1001", c.lines)
		if c.gids != "" {
			mine = strings.Replace(mine, "5 5 5 5", c.gids, 1)
		}
		d := &directory{statuses: []string{mine, mine}, limits: twoLimits, stat: statOf, forbidden: true, users: c.users}
		own := statusOf("1001\t1001\t1001\t1001", "CapPrm:\t0000000000000000")
		self := &directory{statuses: []string{own, own}, links: ourNamespaces, users: machine}
		p, err := readProcess(d, self, status{}, Peer{PID: 7, UID: 1001, Seen: time.Hour})
		if err != nil || c.want == "" && p.Restricted != "" || c.want != "" && p.Restricted != "is in another "+c.want+" namespace" {
			t.Errorf("%s: %q, %v, want %q", name, p.Restricted, err, c.want)
		}
	}
}

// A process in another network namespace, or with another root directory, is in a sandbox, even if
// its links can't be read (invariants 2 and 3). Other mounts alone are not a sandbox.
func TestNetworkAndRoot(t *testing.T) {
	const root = "26 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	const home = "30 26 8:2 / /home rw,relatime shared:2 - ext4 /dev/sda2 rw\n"
	const mine = "CapPrm:\t0000000000000000\nNSpid:\t7"
	const users = "         0          0 4294967295\n"
	machine := status{net: 11, root: "8:1 /"}
	for name, c := range map[string]struct {
		first  status
		net    uint64
		mounts string
		want   string
	}{
		"as the machine":           {machine, 11, root + home, ""},
		"another network":          {machine, 12, root + home, "is in another network namespace"},
		"a network that is gone":   {machine, 0, root + home, "is in another network namespace"},
		"as all of a container":    {status{net: 12, root: "0:50 /"}, 12, "400 300 0:50 / / rw - overlay overlay rw\n", ""},
		"further mounts":           {machine, 11, root + home + "31 26 8:1 /tmp/systemd-private/tmp /tmp rw - ext4 /dev/sda1 rw\n", ""},
		"the same root, read-only": {machine, 11, "90 80 8:1 / / ro,relatime - ext4 /dev/sda1 rw\n", ""},
		"a directory below it":     {machine, 11, "90 80 8:1 /srv/box / rw - ext4 /dev/sda1 rw\n", "has another root directory"},
		"another file system":      {machine, 11, "90 80 0:50 / / rw - overlay overlay rw\n", "has another root directory"},
		"another one on top":       {machine, 11, root + "90 26 0:50 / / rw - tmpfs tmpfs rw\n", "has another root directory"},
		"that one is below":        {machine, 11, "1 1 0:2 / / rw - rootfs rootfs rw\n" + root, ""},
		"no mount point (chroot)":  {machine, 11, home, "has another root directory"},
		"no mounts":                {machine, 11, "", "has another root directory"},
		"short lines":              {machine, 11, "26 1 8:1 /\n\n", "has another root directory"},
	} {
		for _, forbidden := range []bool{false, true} {
			st := strings.Replace(statusOf("1001\t1001\t1001\t1001", mine), "5 5 5 5", "8 8 8 8", 1)
			own := statusOf("1001\t1001\t1001\t1001", mine)
			d := &directory{statuses: []string{st, st}, limits: twoLimits, stat: statOf, links: ourNamespaces, users: users,
				net: c.net, mounts: c.mounts, forbidden: forbidden}
			self := &directory{statuses: []string{own, own}, links: ourNamespaces, users: users}
			p, err := readProcess(d, self, c.first, Peer{PID: 7, UID: 1001, Seen: time.Hour})
			if err != nil || p.Restricted != c.want {
				t.Errorf("%s: %q, %v, want %q", name, p.Restricted, err, c.want)
			}
		}
	}
	for links, want := range map[[2]string]string{
		{"mnt:[3]", "/"}:        "",
		{"mnt:[4]", "/"}:        "has another root directory",
		{"mnt:[3]", "/srv/box"}: "has another root directory",
		{"", "/"}:               "has another root directory",
		{"mnt:[3]", ""}:         "has another root directory",
	} {
		d := &directory{net: 11, links: map[string]string{mountsOf: links[0], "root": links[1]}}
		maps.Copy(d.links, ourNamespaces)
		first := status{net: 11, root: "8:1 /", mounts: "mnt:[3]"}
		if why := whyElsewhere(d, &directory{links: ourNamespaces}, status{}, first); why != want {
			t.Errorf("with the links %q and no mounts: %q, want %q", links, why, want)
		}
	}
	self, err := openDir(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	if self.Inode(netOf) == 0 || rootOf(self) == "" || self.Inode("net/none") != 0 {
		t.Errorf("of this process: %d %q", self.Inode(netOf), rootOf(self))
	}
}

// ownReference returns a reference to this process.
func ownReference(t *testing.T) Reference {
	r, err := ReferenceTo(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A reference whose root or network could not be read is not kept: it would equal each process
// whose root or network can't be read.
func TestReferenceIsComplete(t *testing.T) {
	for want, list := range map[bool][]status{
		true:  {{net: 1, root: "8:1 /"}},
		false: {{}, {net: 1}, {root: "8:1 /"}},
	} {
		for _, st := range list {
			if r := (Reference{st}); r.Complete() != want {
				t.Errorf("%+v is complete: %v", st, !want)
			}
		}
	}
}

// A process that has ended has no limits. A process that began later is not the one that connected.
func TestProcessThatIsGone(t *testing.T) {
	before := SinceBoot() - 2*time.Second/ticks // the start of a process is known in ticks only
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := Peer{PID: cmd.Process.Pid, UID: os.Getuid(), Seen: SinceBoot()}
	if got, err := Look(p, ownReference(t)); err != nil || got.Limits == "" {
		t.Errorf("a process that lives: %+v, %v", got, err)
	}
	p.Seen = before
	if _, err := Look(p, ownReference(t)); err != ErrAnother {
		t.Errorf("a process that began after the connection: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	p.Seen = SinceBoot()
	if _, err := Look(p, ownReference(t)); err != ErrGone {
		t.Errorf("a process that is gone: %v", err)
	}
}
