//go:build machine

package suite

import (
	"strings"
	"testing"
)

// A typist types on a terminal with 33 rows and 99 columns.
type typist struct{ w walker }

// startTyping runs a gpusched command on the terminal. When the test ends, the terminal is closed,
// and if the test failed, its screen is logged. startTyping writes the command into a file.
// Otherwise the command line of script(1), with which the screen begins, would contain words that
// the test waits for.
func (w walker) startTyping(args string) typist {
	w.Helper()
	line := "stty rows 33 cols 99; exec gpusched --on " + w.engine + " " + args + "\n"
	if err := w.box.WriteFile(w.Context(), "/home/alice/at.sh", line, 0o755); err != nil {
		w.Fatal(err)
	}
	w.box.sh(w.T, "alice", `rm -f ~/keys ~/screen ~/ended; mkfifo ~/keys
		(script -qfec "sh ~/at.sh" ~/screen <~/keys; echo $? >~/ended) >/dev/null 2>&1 &
		exec 3<>~/keys; sleep infinity >&3 2>/dev/null & echo $! >~/keeper`)
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("on the terminal of %q:\n%q", args, typist{w}.screen())
		}
		w.box.try(w.T, "alice", "kill $(cat ~/keeper); rm -f ~/at.sh ~/keys ~/screen ~/ended ~/keeper")
	})
	return typist{w}
}

func (at typist) screen() string {
	at.w.Helper()
	return at.w.box.sh(at.w.T, "alice", "cat ~/screen 2>/dev/null || true")
}

func (at typist) types(text string) {
	at.w.Helper()
	at.w.box.sh(at.w.T, "alice", "printf '"+text+"' >~/keys")
}

func (at typist) shows(text string) {
	at.w.Helper()
	poll(at.w.T, text+" is on the screen", func() bool { return strings.Contains(at.screen(), text) })
}

// awaitPrompt waits until a shell in the job shows its prompt and the screen has more bytes than
// the argument says. It returns the length of the screen. Text that is typed before the prompt may
// be lost.
func (at typist) awaitPrompt(bytes int) (length int) {
	at.w.Helper()
	poll(at.w.T, "a shell's prompt is on the screen", func() bool {
		screen := at.screen()
		length = len(screen)
		return length > bytes && strings.HasSuffix(screen, "$ ")
	})
	return length
}

// typeLine types a line into the shell. It returns what the screen then shows, up to the next
// prompt.
func (at typist) typeLine(line string) string {
	at.w.Helper()
	before := at.awaitPrompt(0)
	at.types(line + `\n`)
	after := at.awaitPrompt(before)
	return at.screen()[before:after]
}

// checkAnswer checks that the shell's answer to a line contains the given words.
func (at typist) checkAnswer(line string, words ...string) {
	at.w.Helper()
	answer := at.typeLine(line)
	for _, want := range words {
		if !strings.Contains(answer, want) {
			at.w.Errorf("%s: no %q in\n%q", line, want, answer)
		}
	}
}

// awaitExit waits until the command has exited with the given status, and closes the terminal.
func (at typist) awaitExit(status string) {
	at.w.Helper()
	poll(at.w.T, "it has ended with "+status, func() bool {
		return strings.TrimSpace(at.w.box.sh(at.w.T, "alice", "cat ~/ended 2>/dev/null || true")) == status
	})
	at.w.box.sh(at.w.T, "alice", "kill $(cat ~/keeper)")
}

// walkTerminal checks a job's terminal: the terminal follows the size of the window, Ctrl-C reaches
// the program in it, and the caller exits with the job's status. A shell or a command inside a
// running job has the job's environment. When the shell or command ends, the job continues.
func walkTerminal(w walker) {
	at := w.startTyping("run --tty -g 1 -n seen -- bash --norc -i")
	at.checkAnswer("echo gpu $GPUSCHED_GPU_IDS; stty size", "gpu 0", "33 99")
	at.awaitPrompt(0)
	at.types(`sleep 100\n`)
	poll(w.T, "alice's sleep runs", func() bool { return w.box.try(w.T, "alice", "pgrep -u alice -fx 'sleep 100'").Code == 0 })
	at.types(`\003`)
	at.checkAnswer("echo after $?", "after 130")
	poll(w.T, "the job's terminal follows", func() bool {
		// srun misses a resize that happens while it forwards
		// an earlier one, so the test resizes several times
		resized := w.box.try(w.T, "alice", `for p in $(pgrep -u alice -x srun); do t=$(readlink /proc/$p/fd/0)
			[[ $t = /dev/pts/* ]] && stty -F $t rows 40 cols 81 && stty -F $t rows 40 cols 80 && exit; done; exit 1`)
		if resized.Code != 0 {
			w.Fatalf("no srun has a terminal: %s", resized.Stderr)
		}
		return strings.Contains(at.typeLine("stty size"), "40 80")
	})
	at.awaitPrompt(0)
	at.types(`exit 7\n`)
	at.awaitExit("7")
	id := w.submit("-g 1 -t 10m -- sleep 300")
	w.awaitState(id, "running")
	at = w.startTyping("attach " + id)
	at.shows("this is a shell in job " + w.name(id))
	at.checkAnswer("echo in $GPUSCHED_JOB_ID on $CUDA_VISIBLE_DEVICES; stty size", "in "+id+" on 0", "33 99")
	at.awaitPrompt(0)
	at.types(`exit 5\n`)
	at.awaitExit("5")
	at = w.startTyping("exec " + id + ` -- sh -c 'trap "echo got it; exit 9" INT; echo ready; while :; do sleep 0.2; done'`)
	at.shows("ready")
	at.types(`\003`)
	at.shows("got it")
	at.awaitExit("9")
	if got := w.box.sh(w.T, "alice", "echo typed | gpusched --on slurm exec "+id+" -- cat"); got != "typed" {
		w.Errorf("exec reads %q", got)
	}
	w.awaitState(id, "running")
	w.gs(0, "cancel "+id)
}

// walkSetUp checks that Slurm sends mail, that modules and conda environments are loaded before the
// command, that gpusched reports a failed set-up, and that the warning before the time limit
// arrives.
func walkSetUp(w walker) {
	w.box.sh(w.T, "", `install -d /usr/share/modules/init
		cat >/usr/share/modules/init/sh <<'END'
module() { [ "$2" = good ] || { echo "no module $2" >&2; return 1; }; export LOADED=$2; }
END
		cp /usr/share/modules/init/sh /usr/share/modules/init/bash
		printf '#!/bin/sh\n{ echo "$*"; cat; } >>/tmp/mails\n' >/usr/local/bin/test-mail; chmod +x /usr/local/bin/test-mail; rm -f /tmp/mails
		grep -q ^MailProg /etc/slurm/slurm.conf || { echo MailProg=/usr/local/bin/test-mail >>/etc/slurm/slurm.conf; scontrol reconfigure; }`)
	w.box.sh(w.T, "alice", `mkdir -p ~/.conda/envs/torch/bin ~/.conda/envs/torch/conda-meta ~/.conda/envs/torch/etc/conda/activate.d
		ln -sf /usr/bin/python3 ~/.conda/envs/torch/bin/python; echo 'export ACTIVE=yes' >~/.conda/envs/torch/etc/conda/activate.d/a.sh`)
	w.Cleanup(func() {
		w.box.sh(w.T, "", "rm -rf /usr/share/modules/init ~alice/.conda; sed -i /^MailProg/d /etc/slurm/slurm.conf")
	})
	ending := w.submit("-g 0 -t 1m --signal USR1@30s -- sh -c 'trap \"echo warned; exit 3\" USR1; while :; do sleep 0.2; done'")
	id := w.submit("-g 0 -n mailed --notify mail:start,end,fail -- sh -c 'exit 2'")
	w.gs(2, "wait "+id)
	poll(w.T, "mail has come", func() bool {
		text := w.box.try(w.T, "", "cat /tmp/mails").Stdout
		return strings.Contains(text, "Job_id="+id+" Name=mailed Began") && strings.Contains(text, "Name=mailed Failed") && strings.Contains(text, "alice")
	})
	id = w.submit("-g 0 --conda torch --modules good -- sh -c 'command -v python; echo $ACTIVE $LOADED'")
	w.gs(0, "wait "+id)
	w.checkPrinted(id, "/home/alice/.conda/envs/torch/bin/python", "yes good")
	id = w.submit("-g 0 --modules bad -- true")
	w.gs(223, "wait "+id)
	w.checkOutput("logs "+id, "no module bad", "its modules could not be loaded")
	id = w.submit("-g 0 --setup false -- true")
	w.gs(223, "wait "+id)
	w.checkOutput("logs "+id, "its set-up failed")
	w.gs(3, "wait --timeout 100s "+ending)
	w.checkPrinted(ending, "warned")
}

// walkNodes checks that an administrator can take all GPUs of a node out of service and put them
// back.
func walkNodes(w walker) {
	root := func(args string) string { return w.box.sh(w.T, "", "gpusched --on slurm "+args) }
	if r := w.box.try(w.T, "", "gpusched --on slurm gpu pause 0"); r.Code != 6 || !strings.Contains(r.Stderr, "n1 has GPUs 0-1 (") {
		w.Errorf("one GPU of two: exit %d, %s", r.Code, r.Stderr)
	}
	if got := root("gpu pause 0-1 --reason 'new fan'"); got != "GPU 0 paused\nGPU 1 paused" {
		w.Errorf("pause: %s", got)
	}
	if got := root("gpus"); strings.Count(got, "new fan") != 2 {
		w.Errorf("gpus: %s", got)
	}
	if r := w.box.try(w.T, "", "gpusched --on slurm health"); r.Code != 9 || !strings.Contains(r.Stdout, "n1 is") {
		w.Errorf("health: %s", r.Stdout)
	}
	id := w.submit("-g 1 --gpu-type a100 -- true")
	w.row("list", w.name(id), "queued")
	// On a busy machine Slurm may not have heard from the node
	// recently. Slurm then reports the node's GPUs as lost.
	if got := root("gpu resume 0,1"); !strings.HasPrefix(got, "GPU 0 resumed") || !strings.Contains(got, "\nGPU 1 resumed") {
		w.Errorf("resume: %s", got)
	}
	w.gs(0, "wait "+id)
}

// walkDefaults checks the default memory in the files of 'gpusched export slurm'. A job that
// requests no memory gets a share for each GPU or, without whole GPUs, for each CPU, but not the
// memory of the whole node. The number of shards follows from the GPU memory that a job requests
// and from the shard size that the node's features declare.
func walkDefaults(t *testing.T, box slurmBox) {
	w := walker{t, box, "slurm"}
	box.sh(t, "", `slurm.sh edit 's/^DefMemPerCPU=.*//; s/^PartitionName=main .*/& DefCpuPerGPU=2 DefMemPerGPU=1000 DefMemPerCPU=300/
		s/Feature=a100,/&shard_10gb,/; s/Feature=h100,/&shard_10gb,/' && rm -rf ~alice/.cache/gpusched`)
	for args, want := range map[string]string{
		"-g 0": "mem=300M", "-g 0 -c 3": "mem=900M", "-g 0.5": "mem=300M", "-g 1": "mem=1000M", "-g 2 --gpu-type a100": "mem=2000M", "-g 0.5 -m 50M": "mem=50M",
	} {
		id := w.submit(args + " -- sleep 100")
		w.awaitState(id, "running")
		if got := box.sh(t, "alice", "squeue --noheader --jobs="+id+" --Format=tres-alloc:200"); !strings.Contains(got, want) {
			t.Errorf("a job with %s has %s", args, got)
		}
		w.gs(0, "cancel "+id)
	}
	for args, want := range map[string]string{"-g 0.25 --gpu-mem 20G": "gres:shard:2", "-g 0.5 --gpu-mem 60G": "gres:shard:6", "-g 1 --gpu-mem 60G": "gres:gpu:1"} {
		id := w.submit(args + " -- sleep 100")
		w.awaitState(id, "running")
		if got := box.sh(t, "alice", "squeue --noheader --jobs="+id+" --Format=tres-per-node:80,NodeList:20"); !strings.Contains(strings.ReplaceAll(got, "gres/", "gres:"), want) ||
			strings.Contains(args, "60G") && !strings.Contains(got, "n2") {
			t.Errorf("a job with %s has %s", args, got)
		}
		w.gs(0, "cancel "+id)
	}
	if r := w.run(6, "submit -g 0.5 --gpu-mem 90G -- true"); !strings.Contains(r.Stderr, "8 shards of 10G") {
		t.Error(r.Stderr)
	}
}

// walkMPS checks that parts of GPUs use MPS if Slurm has MPS. If Slurm has neither MPS nor shards,
// the refusal names the setting to add.
func walkMPS(t *testing.T, box slurmBox) {
	t.Cleanup(func() { box.sh(t, "", "rm -f ~alice/go") })
	w := walker{t, box, "slurm"}
	again := func(edit string) {
		box.sh(t, "", "slurm.sh edit '"+edit+"' && rm -rf ~alice/.cache/gpusched")
	}
	again("s/gpu,shard/gpu,mps/; s/,shard:[0-9]*/,mps:200/; s/Name=shard Count=[0-9]*/Name=mps Count=200/")
	id := w.submit("-g 0.5 -- sh -c 'echo $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of $GPUSCHED_GPU_IDS for $GPUSCHED_GPU_SHARE; until [ -e ~/go ]; do sleep 0.1; done'")
	w.awaitState(id, "running")
	w.row("gpus", w.name(id)+":0.5", "busy")
	w.checkOutput("show "+id, "0.5 of a GPU", "running on GPU 0")
	box.sh(t, "alice", "touch ~/go")
	w.gs(0, "wait "+id)
	w.checkPrinted(id, "50 of 0 for 0.5")
	again("s/gpu,shard/gpu/; s/,shard:[0-9]*//; /Name=shard/d")
	if r := w.run(6, "submit -g 0.5 -- true"); !strings.Contains(r.Stderr, "GresTypes=gpu,shard") {
		t.Error(r.Stderr)
	}
}
