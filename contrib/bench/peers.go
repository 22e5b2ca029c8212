package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// peers are the other schedulers that are there while a part is measured.
type peers struct {
	spooler, slurm bool
	ends           []func() error
}

// findPeers starts those that are installed.
func (b *rig) findPeers(ctx context.Context) (p peers, err error) {
	if _, err := exec.LookPath("tsp"); err == nil {
		p.spooler = true
		if err := b.beginSpooler(ctx, &p); err != nil {
			return p, err
		}
	}
	why := noSlurm()
	if why != nil {
		fmt.Fprintln(os.Stderr, "bench: without Slurm:", why)
		return p, nil
	}
	p.slurm = true
	if err := b.beginSlurm(ctx, &p); err != nil {
		p.end()
		return p, fmt.Errorf("slurm: %w", err)
	}
	return p, nil
}

// end stops what was started, the last first.
func (p peers) end() {
	for i := range p.ends {
		if err := p.ends[len(p.ends)-1-i](); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
}

// silent is for what leaves a process behind that would hold our pipe open.
func silent(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = nil, nil }

// asSpooler has a command find the task-spooler of the bench.
func (b *rig) asSpooler(cmd *exec.Cmd) {
	silent(cmd)
	cmd.Env = append(cmd.Environ(), "TS_SOCKET="+filepath.Join(b.dir, "tsp", "socket"), "TMPDIR="+filepath.Join(b.dir, "tsp"))
}

func (b *rig) spool(ctx context.Context, words ...string) error {
	_, err := await.Output(ctx, b.limits.command, append([]string{"tsp"}, words...), b.account, b.asSpooler)
	return err
}

// beginSpooler has it run as many at once as there are GPUs.
func (b *rig) beginSpooler(ctx context.Context, p *peers) error {
	dir := filepath.Join(b.dir, "tsp")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chown(dir, b.uid, b.uid)); err != nil {
		return err
	}
	p.ends = append(p.ends, func() error { return b.spool(context.WithoutCancel(ctx), "-K") })
	return b.spool(ctx, "-S", fmt.Sprint(slots))
}

func (b *rig) spoolerStart(ctx context.Context, m *mark) (func() error, error) {
	err := b.spool(ctx, append([]string{"-n"}, m.command()...)...)
	return func() error { return b.spool(ctx, "-w") }, err
}

// slurmAddress is the machine's own, in the block for documentation: Slurm does not take a loopback one.
const slurmAddress = "192.0.2.1"

// slurmConfig is Slurm as it is after installation, for one machine with as many processors as there are GPUs, no
// accounting and no control groups: what starts a command fastest. The first is its directory.
const slurmConfig = `ClusterName=bench
SlurmctldHost=%[2]s(` + slurmAddress + `)
AuthType=auth/munge
SlurmUser=slurm
StateSaveLocation=%[1]s/ctld
SlurmdSpoolDir=%[1]s/d
SlurmctldPidFile=%[1]s/ctld/pid
SlurmdPidFile=%[1]s/d/pid
SlurmctldLogFile=%[1]s/ctld/log
SlurmdLogFile=%[1]s/d/log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MaxJobCount=200000
MaxArraySize=100001
SlurmdParameters=config_overrides
NodeName=%[2]s NodeAddr=` + slurmAddress + ` CPUs=%[3]d State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// noSlurm says why there is no Slurm to compare with.
func noSlurm() error {
	for _, program := range []string{"slurmctld", "slurmd", "srun", "sbatch", "squeue", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	if _, err := os.Stat("/etc/slurm/slurm.conf"); err == nil {
		return errors.New("this machine has one of its own, which is left alone")
	}
	return nil
}

func (b *rig) slurmDir() string { return filepath.Join(b.dir, "slurm") }

// asSlurm has a command find the bench's Slurm.
func (b *rig) asSlurm(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Environ(), "SLURM_CONF="+filepath.Join(b.slurmDir(), "slurm.conf"))
}

// slurmd runs one of Slurm's commands as root and returns what it printed.
func (b *rig) slurm(ctx context.Context, words ...string) (string, error) {
	out, err := await.Output(ctx, b.limits.command, words, b.asSlurm)
	return strings.TrimSpace(out), err
}

// beginSlurm starts a controller and a node on this machine.
func (b *rig) beginSlurm(ctx context.Context, p *peers) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	host, _, _ = strings.Cut(host, ".")
	dir := b.slurmDir()
	if _, err := run(ctx, "/bin/sh", "-ec", `install -d "$1" "$1/d"; install -d -o slurm "$1/ctld"
		ip link show slurm0 >/dev/null 2>&1 || ip link add slurm0 type veth peer name slurm1
		ip addr replace "$2/32" dev slurm0; ip link set slurm0 up; ip link set slurm1 up
		systemctl start munge`, "sh", dir, slurmAddress); err != nil {
		return err
	}
	config := fmt.Sprintf(slurmConfig, dir, host, slots)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "slurm.conf"), []byte(config), 0o644),
		os.WriteFile(filepath.Join(dir, "cgroup.conf"), []byte("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"), 0o644)); err != nil {
		return err
	}
	for _, daemon := range []string{"slurmctld", "slurmd"} {
		if _, err := await.Output(ctx, b.limits.command, []string{daemon}, b.asSlurm, silent); err != nil {
			return err
		}
	}
	p.ends = append(p.ends, func() error { return b.endSlurm(context.WithoutCancel(ctx)) })
	return await.Until(ctx, "Slurm's node to be idle", b.limits.command, 100*time.Millisecond, b.slurmIs("sinfo", "-h", "-o", "%T")("idle"))
}

// slurmIs looks whether a command of Slurm's prints something.
func (b *rig) slurmIs(words ...string) func(want string) func(context.Context) (string, bool, error) {
	return func(want string) func(context.Context) (string, bool, error) {
		return func(ctx context.Context) (string, bool, error) {
			said, err := b.slurm(ctx, words...)
			if err != nil && ctx.Err() == nil { // it may not answer yet
				return err.Error(), false, nil
			}
			return said, said == want, err
		}
	}
}

// slurmEmpty waits until no job is left.
func (b *rig) slurmEmpty(ctx context.Context) error {
	return await.Until(ctx, "Slurm's queue to be empty", b.limits.many, 50*time.Millisecond, b.slurmIs("squeue", "-h")(""))
}

// endSlurm stops its daemons and waits until they have gone, so that they are not measured with others.
func (b *rig) endSlurm(ctx context.Context) error {
	for _, part := range []string{"d", "ctld"} {
		text, err := os.ReadFile(filepath.Join(b.slurmDir(), part, "pid"))
		if err != nil {
			return err
		}
		pid := 0
		if _, err := fmt.Sscan(string(text), &pid); err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			return err
		}
		if err := await.Until(ctx, "the end of Slurm's "+part, b.limits.command, 20*time.Millisecond, func(context.Context) (string, bool, error) {
			return "it is there", syscall.Kill(pid, 0) != nil, nil
		}); err != nil {
			return err
		}
	}
	_, err := run(ctx, "ip", "link", "del", "slurm0")
	return err
}

func (b *rig) slurmStart(ctx context.Context, m *mark) (func() error, error) {
	_, err := await.Output(ctx, b.limits.command, append([]string{"srun", "--quiet", "-n1"}, m.command()...), b.account, b.asSlurm)
	return func() error { return nil }, err
}
