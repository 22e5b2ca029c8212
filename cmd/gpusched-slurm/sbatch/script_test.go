package sbatch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// shells returns the shells that could be /bin/sh on a node.
func shells(t testing.TB) []string {
	list := []string{"/bin/sh"}
	for _, sh := range []string{"/bin/dash", "/bin/bash"} {
		if _, err := os.Stat(sh); err != nil {
			t.Fatalf("the scripts need %s: %v", sh, err)
		}
		list = append(list, sh)
	}
	return list
}

// An outcome is the output of a script and its exit status.
type outcome struct {
	stdout, stderr string
	status         int
}

// runScript runs a script as Slurm would. The argument vars are some of Slurm's variables.
func runScript(t testing.TB, shell string, script []byte, vars ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "slurm_script")
	if err := os.WriteFile(path, script, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), shell, path)
	cmd.Env = append([]string{"SLURM_JOB_ID=1234", "PATH=/usr/bin:/bin"}, vars...)
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{out.String(), bad.String(), cmd.ProcessState.ExitCode()}
}

// environ is the output of "env -0".
type environ []string

func (e environ) get(name string) string {
	for _, kv := range e {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return "(unset)"
}

func scriptOf(t testing.TB, r api.SubmitRequest) []byte {
	t.Helper()
	if r.Dir = "/"; len(r.Argv) == 0 {
		r.Argv = api.Words{"true"}
	}
	sub, err := Command(r, Site{Shards: 10})
	if err != nil {
		t.Fatal(err)
	}
	return sub.Script
}

// These are words and values that break if the quoting is wrong.
var awkward = []string{
	"", " ", "a b", "'", `"`, `\`, "`id`", "$(id)", "$HOME", "${x}", "a'b\"c", "\n", "a\nb\n", "\r\n", "\r", "a\r\n#SBATCH --hold\n",
	"#SBATCH -H", "*", "?", "[a]", "~", "~root", "-n", "--", "-", "=", "a=b", "!", "!!", ";", "&", "|", "<x", ">x", "(", ")", "{a,b}", "{x}",
	"\x01", "\x7f", "\x80", "\x81\x82\x83\x84\x85\x86\x87\x88\x89", "\xff\xfe", "ü", "日本", "\t", "\v", "EOF", "\\\n", "%s", "%%", "a\\'b", "''", "if", "exec",
}

// A command and its environment arrive byte for byte in every shell.
func TestWordsArrive(t *testing.T) {
	env := []string{"UID=7", "EUID=8", "PPID=9", "IFS=x", "RANDOM=1", "SECONDS=2", "BASHOPTS=z", "SHELLOPTS=y", "PS4=+", "POSIXLY_CORRECT=1",
		"BASH_FUNC_f%%=() { echo x; }", "a.b-c=1", "LC_ALL=ja_JP.SJIS", "_=x", "gs_id=x", "-u=x", "GPUSCHEDX=1", "ENV=/nothere", "PATH=/usr/bin:/bin"}
	for i, v := range awkward {
		env = append(env, "V"+string(rune('A'+i%26))+string(rune('A'+i/26))+"="+v)
	}
	r := request("env", "-0")
	for _, kv := range env {
		r.Env = append(r.Env, kv)
	}
	script := scriptOf(t, r)
	if bytes.Contains(script, []byte("\r\n")) {
		t.Error("sbatch refuses the line ends of Windows in a script")
	}
	for _, sh := range shells(t) {
		got := argvOf(t, sh, script)
		for _, kv := range env {
			if !slices.Contains(got, kv) {
				t.Errorf("%s: no %q in %q", sh, kv, got)
			}
		}
	}
	r = request(append([]string{"/usr/bin/printf", `%s\0`}, awkward...)...)
	for _, sh := range shells(t) {
		if got := argvOf(t, sh, scriptOf(t, r)); !slices.Equal(got, awkward) {
			t.Errorf("%s: %q", sh, got)
		}
	}
}

// argvOf returns the arguments that a job's command gets, if the command is a shell script.
func argvOf(t testing.TB, sh string, script []byte, vars ...string) []string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "slurm_script")
	if err := os.WriteFile(path, script, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), sh, path)
	cmd.Env = append([]string{"SLURM_JOB_ID=1234", "PATH=/usr/bin:/bin"}, vars...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", sh, err, script)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// FuzzScript: arbitrary arguments and values arrive unchanged in dash and in bash.
func FuzzScript(f *testing.F) {
	for i := 0; i < len(awkward); i += 9 {
		all := strings.Join(awkward[i:min(i+9, len(awkward))], "")
		f.Add(all, "x"+all, awkward[i])
	}
	f.Fuzz(func(t *testing.T, a, b, value string) {
		if strings.ContainsRune(a+b+value, 0) || len(a)+len(b)+len(value) > 1<<16 {
			return
		}
		r := request("/usr/bin/printf", `%s\0%s\0`, "["+a+"]", "["+b+"]")
		r.Env = api.Words{"X=" + value}
		script := scriptOf(t, r)
		r.Argv = api.Words{"env", "-0"}
		second := scriptOf(t, r)
		if bytes.Contains(script, []byte("\r\n")) {
			t.Fatal("a line end of Windows")
		}
		for _, sh := range []string{"/bin/dash", "/bin/bash"} {
			if got := argvOf(t, sh, script); len(got) != 2 || got[0] != "["+a+"]" || got[1] != "["+b+"]" {
				t.Fatalf("%s: %q, not %q %q", sh, got, a, b)
			}
			if got := argvOf(t, sh, second); !slices.Contains(got, "X="+value) {
				t.Fatalf("%s: %q without %q", sh, got, value)
			}
		}
	})
}

// The program runs even if env or a shell would misread its name.
func TestProgramsWithOddNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a=b", "-x", "if", "a b", "x'y", "{p}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nprintf '%s\\0' ran \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		r := request(name, "1 2")
		r.Env = api.Words{"PATH=" + dir + ":/usr/bin:/bin"}
		for _, sh := range shells(t) {
			if got := argvOf(t, sh, scriptOf(t, r)); len(got) != 2 || got[0] != "ran" || got[1] != "1 2" {
				t.Errorf("%s: %q gives %q", sh, name, got)
			}
		}
	}
}

// A job's environment has variables that describe the job, its request and its GPUs.
func TestVariables(t *testing.T) {
	dir := t.TempDir()
	smi := "#!/bin/sh\ncase $1 in -i) echo GPU-b; echo GPU-d ;; *) for i in a b c d; do echo GPU-$i; done ;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(smi), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		ask  func(*api.SubmitRequest)
		vars []string
		want string
	}{
		{"no GPU", func(r *api.SubmitRequest) { r.GPUMilli = 0 }, nil,
			"GPUSCHED_JOB_ID=1234 GPUSCHED_ATTEMPT=1 CUDA_VISIBLE_DEVICES= NVIDIA_VISIBLE_DEVICES=void GPUSCHED_GPU_SHARE=0 PYTHONUNBUFFERED=1 " +
				"MASTER_ADDR=127.0.0.1 LANG=C.UTF-8 GPUSCHED_ENGINE=slurm"},
		{"two GPUs", func(r *api.SubmitRequest) { r.GPUMilli, r.GPUMemBytes = 2000, 0 },
			[]string{"SLURM_JOB_GPUS=1,3", "CUDA_VISIBLE_DEVICES=0,1", "SLURM_RESTART_COUNT=2", "PATH=" + dir + ":/usr/bin:/bin"},
			"CUDA_VISIBLE_DEVICES=0,1 GPUSCHED_GPU_IDS=1,3 GPUSCHED_GPU_UUIDS=GPU-b,GPU-d NVIDIA_VISIBLE_DEVICES=GPU-b,GPU-d GPUSCHED_ATTEMPT=3 " +
				"CUDA_DEVICE_ORDER=PCI_BUS_ID GPUSCHED_GPU_SHARE=2 SLURM_JOB_ID=1234"},
		{"UUIDs", func(r *api.SubmitRequest) { r.GPUMilli, r.GPUVisible = 2000, "uuid" },
			[]string{"SLURM_JOB_GPUS=1,3", "CUDA_VISIBLE_DEVICES=0,1", "PATH=" + dir + ":/usr/bin:/bin"}, "CUDA_VISIBLE_DEVICES=GPU-b,GPU-d"},
		{"no nvidia-smi", func(*api.SubmitRequest) {}, []string{"SLURM_JOB_GPUS=1", "CUDA_VISIBLE_DEVICES=0"},
			"CUDA_VISIBLE_DEVICES=0 GPUSCHED_GPU_IDS=1 GPUSCHED_GPU_UUIDS= NVIDIA_VISIBLE_DEVICES=1"},
		{"a task", func(r *api.SubmitRequest) { r.GPUMilli, r.Array = 0, &job.Array{Written: "1-9"} },
			[]string{"SLURM_ARRAY_JOB_ID=1230", "SLURM_ARRAY_TASK_ID=4"}, "GPUSCHED_ARRAY_JOB=1230 GPUSCHED_ARRAY_TASK=4"},
		{"of another job", func(r *api.SubmitRequest) {
			r.GPUMilli, r.EnvMode = 0, "inherit"
			for _, kv := range []string{"SLURM_NTASKS=99", "GPUSCHED_JOB_ID=5", "CUDA_VISIBLE_DEVICES=7", "SSH_TTY=x", "PWD=/x", "MASTER_PORT=1", "A=1", "A=2"} {
				r.Env = append(r.Env, kv)
			}
		}, []string{"SLURM_NTASKS=1"},
			"SLURM_NTASKS=1 GPUSCHED_JOB_ID=1234 CUDA_VISIBLE_DEVICES= SSH_TTY=(unset) PWD=/ MASTER_PORT=1 A=2"},
	} {
		r := request("env", "-0")
		tt.ask(&r)
		o := environ(argvOf(t, "/bin/sh", scriptOf(t, r), tt.vars...))
		for want := range strings.FieldsSeq(tt.want) {
			if name, value, _ := strings.Cut(want, "="); o.get(name) != value {
				t.Errorf("%s: %s is %q, not %q", tt.name, name, o.get(name), value)
			}
		}
	}
}

// Each task of a sweep gets its values, whatever characters they contain.
func TestParameters(t *testing.T) {
	for i, want := range []string{"a-x y", "a-'$z", "b\n-x y", "b\n-'$z"} {
		r := request("/usr/bin/printf", `%s\0`, "{p}-{q}", "{r}", "{p}{p}")
		r.GPUMilli = 0
		r.Array = &job.Array{Params: []job.Param{{Name: "p", Values: []string{"a", "b\n"}}, {Name: "q", Values: []string{"x y", "'$z"}}}}
		got := argvOf(t, "/bin/sh", scriptOf(t, r), "SLURM_ARRAY_JOB_ID=1", "SLURM_ARRAY_TASK_ID="+string(rune('0'+i)))
		p, _, _ := strings.Cut(want, "-")
		if len(got) != 3 || got[0] != want || got[1] != "{r}" || got[2] != p+p {
			t.Errorf("task %d: %q, not %q", i, got, want)
		}
	}
}

// --cuda adds the job's GPUs to the command.
func TestCUDA(t *testing.T) {
	r := request("/usr/bin/printf", `%s\0`, "--cuda", "7", "x")
	r.Setup.CUDAArg = true
	if got := argvOf(t, "/bin/sh", scriptOf(t, r), "SLURM_JOB_GPUS=3", "CUDA_VISIBLE_DEVICES=0"); strings.Join(got, " ") != "--cuda 0 x" {
		t.Errorf("%q", got)
	}
}

// The setup runs before the command. If the setup fails, the job ends.
func TestSetup(t *testing.T) {
	conda, venv := t.TempDir(), t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(conda+"/etc/conda/activate.d", 0o755))
	must(os.WriteFile(conda+"/etc/conda/activate.d/a.sh", []byte("export ACTIVATED=$CONDA_PREFIX\n"), 0o644))
	must(os.MkdirAll(conda+"/condabin", 0o755))
	must(os.MkdirAll(venv+"/bin", 0o755))
	must(os.WriteFile(venv+"/bin/told", []byte("#!/bin/sh\nexec env -0\n"), 0o755))
	r := request("told")
	r.GPUMilli = 0
	r.Setup.Conda, r.Setup.Venv = conda, venv
	r.Setup.Command = "export SET='a b' CUDA_VISIBLE_DEVICES=5; cd /tmp; umask 077"
	o := environ(argvOf(t, "/bin/sh", scriptOf(t, r)))
	for name, want := range map[string]string{
		"ACTIVATED": conda, "CONDA_PREFIX": conda, "CONDA_DEFAULT_ENV": "base", "CONDA_EXE": conda + "/bin/conda", "VIRTUAL_ENV": venv, "SET": "a b",
		"CUDA_VISIBLE_DEVICES": "", "PATH": venv + "/bin:" + conda + "/bin:" + defaultPath, "PWD": "/tmp", setupVariable: "(unset)",
	} {
		if o.get(name) != want {
			t.Errorf("%s is %q, not %q", name, o.get(name), want)
		}
	}
	for command, want := range map[string]string{"false": "its set-up failed (exit status 1)", "exit 0": "its set-up failed (exit status 0)"} {
		r.Setup.Command = command
		if o := runScript(t, "/bin/sh", scriptOf(t, r)); o.status != 223 || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: status %d, %q", command, o.status, o.stderr)
		}
	}
	r = request("x")
	r.Setup.Modules = []string{"cuda/12", "gcc"}
	init := t.TempDir()
	must(os.MkdirAll(init+"/init", 0o755))
	for _, kind := range []string{"sh", "bash"} {
		must(os.WriteFile(init+"/init/"+kind, []byte("module() { MODULES=$MODULES:$2; export MODULES; [ \"$2\" != bad ]; }\n"), 0o644))
	}
	r.Argv = api.Words{"env", "-0"}
	r.Env = api.Words{"MODULESHOME=" + init}
	if o := environ(argvOf(t, "/bin/sh", scriptOf(t, r))); o.get("MODULES") != ":cuda/12:gcc" {
		t.Errorf("modules: %q", o.get("MODULES"))
	}
	r.Setup.Modules = []string{"bad"}
	if o := runScript(t, "/bin/sh", scriptOf(t, r)); o.status != 223 || !strings.Contains(o.stderr, "modules could not be loaded") {
		t.Errorf("status %d, %q", o.status, o.stderr)
	}
}

// Slurm queues a failed job again while attempts are left, unless somebody has cancelled it.
func TestRetries(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	stub := "#!/bin/sh\necho \"$@\" >>" + log + "\n[ \"$1\" != requeue ] || ( sleep 0.1; kill -TERM $PPID ) &\n"
	if err := os.WriteFile(filepath.Join(dir, "scontrol"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + dir + ":/usr/bin:/bin"
	r := request("/bin/sh", "-c", "exit 3")
	r.GPUMilli, r.Retries, r.Backoff = 0, 2, job.Span(7e9)
	for _, sh := range shells(t) {
		for restarts, want := range map[string]string{"0": "requeue 1234\nupdate JobId=1234 StartTime=now+7\n", "1": "requeue 1234\nupdate JobId=1234 StartTime=now+14\n", "2": ""} {
			_ = os.Remove(log)
			o := runScript(t, sh, scriptOf(t, r), path, "SLURM_RESTART_COUNT="+restarts)
			said, _ := os.ReadFile(log)
			if string(said) != want || o.status != 3 {
				t.Errorf("%s: after %s: status %d, %q, not %q (%s)", sh, restarts, o.status, said, want, o.stderr)
			}
		}
		_ = os.Remove(log)
		r := r
		r.Argv = api.Words{"/bin/sh", "-c", "trap 'echo got; exit 5' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done"}
		o := runScript(t, sh, scriptOf(t, r), path, "SLURM_RESTART_COUNT=2")
		if o.status != 5 || o.stdout != "got\n" {
			t.Errorf("%s: a signal is passed on: %+v", sh, o)
		}
		r.Argv[2] = "trap 'exit 0' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done"
		const pass = `kill -s "$1" "$gs_pid" 2>/dev/null;`
		slow := bytes.Replace(scriptOf(t, r), []byte(pass), []byte(pass+" sleep 0.3;"), 1)
		if o := runScript(t, sh, slow, path); !bytes.Contains(slow, []byte("sleep 0.3")) || o.status != 0 {
			t.Errorf("%s: the command ends with 0 while a signal is passed on: %+v", sh, o)
		}
		r.Argv[2] = "kill -KILL $$" // bash in POSIX mode prints a message about the signal
		if o := runScript(t, sh, scriptOf(t, r), path, "SLURM_RESTART_COUNT=2", "POSIXLY_CORRECT=1"); o.status != 137 || strings.Contains(o.stderr, "wait") {
			t.Errorf("%s: killed: %+v", sh, o)
		}
		r.Argv[2] = "kill -TERM $PPID; sleep 5"
		if o := runScript(t, sh, scriptOf(t, r), path); o.status != 143 {
			t.Errorf("%s: ended: %+v", sh, o)
		}
		if said, err := os.ReadFile(log); err == nil {
			t.Errorf("%s: a cancelled job is queued again: %s", sh, said)
		}
	}
}

// srun gets the same script as sbatch.
func TestRun(t *testing.T) {
	r := request("true")
	r.TTY = true
	sub, err := Run(r, site)
	if text := strings.Join(sub.Args, " "); err != nil || !strings.Contains(text, " --pty /bin/sh -c #!/bin/sh") || strings.Contains(text, "--open-mode") {
		t.Errorf("%q %v", text, err)
	}
	r.Retries = 1
	if _, err := Run(r, site); err == nil {
		t.Error("retries are accepted")
	}
}

// A command in a job gets the job's GPU variables, and its own arguments unchanged.
func TestInside(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\nprintf 'GPU-a\\nGPU-b\\n'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for gpus, want := range map[string]string{"2": "1,3|0,1|GPU-a,GPU-b|a b|7", "0": "||void|a b|7"} {
		n, _ := strconv.Atoi(gpus)
		words := Inside(n*1000, "sh", "-c", `echo "$GPUSCHED_GPU_IDS|$CUDA_VISIBLE_DEVICES|$NVIDIA_VISIBLE_DEVICES|$1"; exit 7`, "x", "a b")
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "SLURM_STEP_GPUS=1,3", "CUDA_VISIBLE_DEVICES=0,1"}
		out, err := cmd.CombinedOutput()
		if got := fmt.Sprintf("%s|%d", strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()); got != want {
			t.Errorf("%s GPUs: %s (%v), not %s", gpus, got, err, want)
		}
	}
}
