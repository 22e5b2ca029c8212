package gres

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gpusched/gpusched/daemon/config"
)

func TestNames(t *testing.T) {
	for expr, want := range map[string]string{
		"": "", "a": "a", "a,b": "a b", "n[1-3]": "n1 n2 n3", "n[08-11]x,y": "n08x n09x n10x n11x y", "r[1-2]n[1,3]": "r1n1 r1n3 r2n1 r2n3",
		"n[1-2": "n[1-2", "n[x,2]": "nx n2", "n[3-1]": "", "/dev/nvidia[0-1,4]": "/dev/nvidia0 /dev/nvidia1 /dev/nvidia4",
	} {
		left := budget(mostNames)
		if got := strings.Join(slices.Collect(left.expand(expr)), " "); got != want {
			t.Errorf("%q is %q, want %q", expr, got, want)
		}
	}
}

// Invariant 4: the number of names is bounded.
func TestNamesAreBounded(t *testing.T) {
	left, n := budget(mostNames), 0
	for range left.expand("n[0-4294967295],n[1-2]" + strings.Repeat("[0-9]", 30)) {
		n++
	}
	for range left.expand("a") {
		n++
	}
	if n != mostNames {
		t.Errorf("%d names", n)
	}
	if c := parse("", "NodeName=n[0-4294967295] Name=gpu File=/dev/nvidia0\n", "gpu1"); !c.Every {
		t.Errorf("a file that was not read to its end claims %q", c)
	}
}

const twoNodes = "ClusterName=lab\nNodeName=DEFAULT CPUs=8\nNodeName=gpu[1-2] Gres=gpu:a100:4\nNodeName=cpu1\n"

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		slurm, gres, host, want string
	}{
		"nothing":                 {"", "", "gpu1", ""},
		"a file":                  {"", "Name=gpu File=/dev/nvidia2", "gpu1", "/dev/nvidia2"},
		"a range":                 {twoNodes, "name=GPU Type=a100 FILE=/dev/nvidia[0-1] # Count=4", "gpu1", "/dev/nvidia0, /dev/nvidia1"},
		"a list, continued":       {"", "Name=gpu \\\n  File=/dev/nvidia1,/dev/nvidia0,/dev/nvidia1\r\n", "gpu1", "/dev/nvidia0, /dev/nvidia1"},
		"shards":                  {"", "Name=shard Count=8 File=/dev/nvidia3", "gpu1", "/dev/nvidia3"},
		"MIG":                     {"", `Name=gpu MultipleFiles="/dev/nvidia0,/dev/nvidia-caps/nvidia-cap21"`, "gpu1", "/dev/nvidia0"},
		"ours by range":           {twoNodes, "NodeName=gpu[1-9] Name=gpu File=/dev/nvidia0\nNodeName=gpu7 Name=gpu File=/dev/nvidia1", "gpu1.example.org", "/dev/nvidia0"},
		"another node's":          {twoNodes, "NodeName=gpu[2-9] Name=gpu File=/dev/nvidia0\nNodeName=gpu1 Name=gpu File=/dev/nvidia7", "gpu1", "/dev/nvidia7"},
		"another node's alone":    {"", "NodeName=gpu[2-9] Name=gpu File=/dev/nvidia0", "gpu1", ""},
		"by NodeHostname":         {"NodeName=n[1-2] NodeHostname=box Gres=gpu:2", "NodeName=n1 Name=gpu File=/dev/nvidia[0-1]\nNodeName=n2 Name=gpu File=/dev/nvidia3", "box", "/dev/nvidia0, /dev/nvidia1, /dev/nvidia3"},
		"by one NodeHostname":     {"NodeName=n[1-2] NodeHostname=box[1-2] Gres=gpu:2", "NodeName=n1 Name=gpu File=/dev/nvidia0\nNodeName=n2 Name=gpu File=/dev/nvidia3", "box2", "/dev/nvidia3"},
		"found out":               {twoNodes, "AutoDetect=nvml", "gpu1", "every GPU"},
		"found out, new word":     {"", "AutoDetect=full", "gpu1", "every GPU"},
		"found out, of no GPU":    {twoNodes, "AutoDetect=nvml", "cpu1", ""},
		"found out elsewhere":     {"", "NodeName=gpu2 AutoDetect=nvml", "gpu1", ""},
		"off here":                {"", "AutoDetect=nvml\nNodeName=gpu1 AutoDetect=off Name=gpu File=/dev/nvidia1", "gpu1", "/dev/nvidia1"},
		"AMD's":                   {twoNodes, "AutoDetect=rsmi", "gpu1", ""},
		"counted without a file":  {twoNodes, "Name=gpu Count=2", "gpu1", "every GPU"},
		"none counted":            {"", "Name=gpu Count=0", "gpu1", ""},
		"of slurm.conf alone":     {twoNodes, "", "gpu2", "every GPU"},
		"of slurm.conf's default": {"NodeName=DEFAULT Gres=gpu:1\nNodeName=x", "", "x", "every GPU"},
		"no GPU of slurm.conf":    {twoNodes, "", "cpu1", ""},
		"GPUs of another maker":   {twoNodes, "Name=gpu File=/dev/dri/renderD[128-131]", "gpu1", ""},
		"another device":          {"", "Name=nic File=/dev/mlx5_0\nName=gpu File=/dev/nvidia-uvm", "gpu1", ""},
		"rubbish":                 {"===\n[[", "Name\n=\nFile=/dev/nvidia9999999\nNodeName=[ File=/dev/nvidia1\n\\", "gpu1", ""},
	} {
		if got := parse(tt.slurm, tt.gres, tt.host); got.String() != tt.want || got.None() != (tt.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// root makes a directory with the files of a machine. A name that ends with / becomes a directory.
func root(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const enabled = "etc/systemd/system/multi-user.target.wants/slurmd.service"

// Invariants 1 and 3: files that can't be read or trusted do not change the claim,
// and no error quotes them.
func TestRead(t *testing.T) {
	dir := root(t, map[string]string{
		enabled: "", "etc/slurm/slurm.conf": twoNodes + "Include nodes/*.conf\n",
		"etc/slurm/gres.conf": "include gpus.conf\n", "etc/slurm/gpus.conf": "Name=gpu File=/dev/nvidia1\n", "secret": "Name=gpu File=/dev/nvidia0 hunter2\n",
	})
	conf := filepath.Join(dir, "etc/slurm/gres.conf")
	r := &Reader{Root: dir, Host: "gpu1", Own: config.AnyOwner}
	look := func(what, want, wrong string) {
		t.Helper()
		f := r.Read()
		said := ""
		if f.Error != nil {
			said = f.Error.Error()
		}
		if f.Claim.String() != want || !strings.Contains(said, wrong) || (wrong == "") != (said == "") || strings.Contains(said, "hunter2") {
			t.Errorf("%s: %q (%s), want %q (%s)", what, f.Claim, said, want, wrong)
		}
	}
	look("an include of slurm.conf that is not there", "/dev/nvidia1", "nodes/*.conf")
	write(t, filepath.Join(dir, "etc/slurm/slurm.conf"), twoNodes)
	look("all there", "/dev/nvidia1", "")
	write(t, conf, "Name=gpu File=/dev/nvidia[0-1]\n")
	look("changed", "/dev/nvidia0, /dev/nvidia1", "")
	write(t, conf, "include /secret\n")
	look("a file elsewhere", "/dev/nvidia0, /dev/nvidia1", "not below /etc")
	write(t, conf, "include ../../secret\n")
	look("a way out", "/dev/nvidia0, /dev/nvidia1", "escapes")
	write(t, conf, "include gres.conf\n")
	look("itself", "/dev/nvidia0, /dev/nvidia1", "too many files")
	write(t, conf, strings.Repeat("#", config.MaxFileBytes+1))
	look("too large", "/dev/nvidia0, /dev/nvidia1", "bytes")
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), conf); err != nil {
		t.Fatal(err)
	}
	look("a link out of it", "/dev/nvidia0, /dev/nvidia1", "escapes")
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	look("a directory", "/dev/nvidia0, /dev/nvidia1", "not a regular file")
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	write(t, conf, "Name=gpu File=/dev/nvidia3\n")
	r.Own = func(fs.FileInfo) error { return fs.ErrPermission }
	look("whose it is", "/dev/nvidia0, /dev/nvidia1", "permission")
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	r.Own = config.AnyOwner
	look("gone, so that slurm.conf alone tells", "every GPU", "")
	if err := os.Remove(filepath.Join(dir, enabled)); err != nil {
		t.Fatal(err)
	}
	look("no slurmd", "", "")
}

// If Slurm's files are elsewhere and slurmd runs, every GPU is claimed.
func TestReadWithoutFiles(t *testing.T) {
	dir := root(t, map[string]string{"etc/passwd": "", "sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs": "1"})
	if f := (&Reader{Root: dir, Host: "x", Own: config.AnyOwner}).Read(); f.Error == nil || !f.Every || !f.Assumed || !f.Runs {
		t.Errorf("%+v", f)
	}
	dir = root(t, map[string]string{enabled: "", "etc/slurm-llnl/readme": ""})
	if f := (&Reader{Root: dir, Host: "x", Own: config.AnyOwner}).Read(); f.Error != nil || !f.None() || !f.Runs || f.Conf != "" {
		t.Errorf("enabled without files: %+v", f)
	}
	dir = root(t, map[string]string{enabled: "", "etc/slurm-llnl/gres.conf": "Name=gpu File=/dev/nvidia0"})
	if f := (&Reader{Root: dir, Host: "x", Own: config.AnyOwner}).Read(); f.Error != nil || !slices.Equal(f.Minors, []int{0}) || f.Conf != "/etc/slurm-llnl/gres.conf" {
		t.Errorf("Debian's old place: %+v", f)
	}
	if f := (&Reader{Root: dir, Host: "x", Own: func(fs.FileInfo) error { return fs.ErrPermission }}).Read(); f.Error == nil || !f.None() {
		t.Errorf("a file that is not root's is believed: %+v", f)
	}
}

// slurmdProcs is a file that exists only while slurmd runs.
const slurmdProcs = "sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs"

// Invariant 2: if slurmd runs and its files can't be read, every GPU is claimed. The claim lasts
// during a restart of slurmd, until the files can be read.
func TestUnreadableSlurmdClaimsEveryGPU(t *testing.T) {
	dir := root(t, map[string]string{enabled: "", slurmdProcs: "1", "etc/slurm/gres.conf": "Name=gpu File=/dev/nvidia1\n"})
	mine := func(fs.FileInfo) error { return nil }
	r := &Reader{Root: dir, Host: "x", Own: func(fs.FileInfo) error { return fs.ErrPermission }}
	look := func(what, want string, assumed bool) {
		t.Helper()
		if f := r.Read(); f.Claim.String() != want || f.Assumed != assumed || assumed && f.Error == nil || !strings.Contains(f.Describe(false), cmp.Or(want, "no")) && !assumed {
			t.Errorf("%s: %+v: %s", what, f, f.Describe(false))
		}
	}
	look("whose file it is", "every GPU", true)
	if err := os.RemoveAll(filepath.Join(dir, filepath.Dir(slurmdProcs))); err != nil {
		t.Fatal(err)
	}
	look("it is started again", "every GPU", true)
	r.Own = mine
	look("read", "/dev/nvidia1", false)
	write(t, filepath.Join(dir, slurmdProcs), "1")
	write(t, filepath.Join(dir, "etc/slurm/gres.conf"), "include /secret\n")
	look("spoilt", "/dev/nvidia1", false)
	write(t, filepath.Join(dir, "etc/slurm/gres.conf"), "#\n")
	look("known to be none", "", false)
	write(t, filepath.Join(dir, "etc/slurm/gres.conf"), "include /secret\n")
	look("known to have been none", "", false)
	if err := os.Remove(filepath.Join(dir, "etc/slurm/gres.conf")); err != nil {
		t.Fatal(err)
	}
	look("its settings are elsewhere", "every GPU", true)
	for _, name := range []string{filepath.Dir(slurmdProcs), enabled} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	look("it is no more", "", false)
	write(t, filepath.Join(dir, slurmdProcs), "1")
	look("again, without a file", "every GPU", true)
}

// Invariant 1: /etc/slurm may be a link if all directories and links on the path belong to root.
func TestDirectoryMayBeALink(t *testing.T) {
	dir := root(t, map[string]string{slurmdProcs: "1", "etc/passwd": "",
		"shared/slurm/conf/gres.conf": "include gpus.conf\ninclude /etc/slurm/more.conf\n", "shared/slurm/conf/gpus.conf": "Name=gpu File=/dev/nvidia1\n",
		"shared/slurm/conf/more.conf": "Name=gpu File=/dev/nvidia2\n", "secret": "Name=gpu File=/dev/nvidia3\n",
	})
	link := func(to, name string) {
		t.Helper()
		name = filepath.Join(dir, name)
		_ = os.Remove(name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	others := "" // name of the file that does not belong to root; "": none
	own := func(info fs.FileInfo) error {
		if info.Name() == others {
			return fs.ErrPermission
		}
		if info.Mode().Perm()&0o022 != 0 {
			return errors.New("everybody can write it")
		}
		return nil
	}
	look := func(what, want, wrong string) {
		t.Helper()
		f := (&Reader{Root: dir, Host: "x", Own: own}).Read()
		if f.Claim.String() != want || (wrong == "") != (f.Error == nil) || f.Error != nil && !strings.Contains(f.Error.Error(), wrong) {
			t.Errorf("%s: %+v, want %q (%s)", what, f, want, wrong)
		}
	}
	link("/shared/slurm/conf", "etc/slurm")
	look("elsewhere", "/dev/nvidia1, /dev/nvidia2", "")
	link("../opt/conf", "etc/slurm")
	link("shared/slurm", "opt")
	look("over a link", "/dev/nvidia1, /dev/nvidia2", "")
	for _, others = range []string{"slurm", "conf", "shared", "opt", "gpus.conf"} {
		look(others+" is another's", "every GPU", "permission")
	}
	others = ""
	if err := os.Chmod(filepath.Join(dir, "shared"), 0o777); err != nil {
		t.Fatal(err)
	}
	look("everybody's directory", "every GPU", "/shared: everybody can write it")
	if err := os.Chmod(filepath.Join(dir, "shared"), 0o755); err != nil {
		t.Fatal(err)
	}
	link("opt", "opt")
	look("itself", "every GPU", "too many links")
	link("/secret", "etc/slurm")
	look("a file", "every GPU", "not a directory")
	link("/shared/slurm/conf", "etc/slurm")
	write(t, filepath.Join(dir, "shared/slurm/conf/more.conf"), "include ../../../secret\n")
	look("a way out", "every GPU", "escapes")
}

// A hanging file server delays a caller by readTimeout at most, and only one goroutine waits for
// it.
func TestHangingFileServer(t *testing.T) {
	dir := root(t, map[string]string{slurmdProcs: "1", "etc/slurm/gres.conf": "Name=gpu File=/dev/nvidia1\n"})
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan bool)
		var asked atomic.Int32
		r := &Reader{Root: dir, Host: "x", Own: func(fs.FileInfo) error {
			asked.Add(1)
			<-answer
			return nil
		}}
		for range 2 {
			if f := r.Read(); !f.Assumed || f.Error == nil || !strings.Contains(f.Error.Error(), "no answer within 2s") || asked.Load() != 1 {
				t.Errorf("%+v, asked %d times", f, asked.Load())
			}
		}
		close(answer)
		if f := r.Read(); f.Error != nil || f.Assumed || f.Claim.String() != "/dev/nvidia1" {
			t.Errorf("%+v", f)
		}
	})
}

// FuzzParse: any files are parsed in finite time, and the claim is valid.
func FuzzParse(f *testing.F) {
	f.Add(twoNodes, "NodeName=gpu[1-2] Name=gpu File=/dev/nvidia[0-3] Cores=0-7\nAutoDetect=nvml\n", "gpu1")
	f.Add("NodeName=n[1-2] NodeHostname=b[1-2]\\\n Gres=gpu:1", `Name="gpu" MultipleFiles=/dev/nvidia[0,1]`, "b2.x")
	f.Add("nodename=default gres=shard:3", "include x\n#\\#=\n[0-99999999][1-9]", "[")
	f.Fuzz(func(t *testing.T, slurm, gres, host string) {
		c := parse(slurm, gres, host)
		if !slices.IsSorted(c.Minors) || len(slices.Compact(slices.Clone(c.Minors))) != len(c.Minors) || c.Every && c.Minors != nil {
			t.Errorf("%+v", c)
		}
		for _, minor := range c.Minors {
			if minor < 0 || minor >= mostMinors {
				t.Errorf("minor %d", minor)
			}
		}
		if c.None() != (c.String() == "") {
			t.Errorf("%+v is called %q", c, c)
		}
	})
}
