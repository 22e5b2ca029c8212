package manual

// topics are the topics of gpusched(1) that are about no single command:
// titles, and what is below them.
var topics = []Entry{
	{"FRACTIONS OF A GPU", `A job may ask for a part of a GPU, such as -g 0.5, in steps of one hundredth, or for whole GPUs and a part of one more, such as -g 1.5. A whole GPU is the job's alone; a fraction shares its GPU with other fractions, as long as their shares add up to no more than 1 and their memory fits.

A share is a matter of the queue: it decides how many jobs are on a GPU, not how much of its time each gets. GPU memory is kept for a fraction: what --gpu-mem says, else its share of the GPU's memory. What happens to a job that takes more is below GPU MEMORY AND IDLE GPUS; the memory that is then really free decides what starts beside it.

Fractions are put where they fit best, so that whole GPUs stay whole. With --spread they go to the emptiest GPU instead. --max-load and --max-used keep a job off GPUs that are busy already, also where that comes from outside of gpusched. Whole GPUs are free ones: a job that asks them and says with neither --gpu-mem nor --max-used what it needs waits while a process of no job computes there or has much memory, and 'gpusched why' names the process. A desktop is no reason. --max-load alone says nothing of memory, and lets no job share.`},
	{"GPU MEMORY AND IDLE GPUS", `'gpusched show' says how much memory a job uses of each of its GPUs now and used at its peak, how much of the time the GPU computed, and for how long the job has not used it; it keeps that for jobs that have ended. 'gpusched gpus' lists all processes, those of no job with their users.

A job with a whole GPU may use all of its memory. One with a fraction has a budget: its --gpu-mem, else its share of the memory. If it uses more, it finds a line about that in its own journal ('gpusched logs', 'journalctl -u gpujob-ID'), and list and show say "over memory". Nothing else happens unless the site enforces budgets: then, some time after that line, the job is stopped, but only while another job on the GPU is short of what it was promised. Its state is then gpu-out-of-memory. A program that runs out of GPU memory by itself just fails.

A job that leaves a GPU unused for long finds a line about that too, and is shown as idle: no process of it is there, or none that computes or takes memory, such as a notebook nobody types into. Where the site wants it, a job that goes on using none of its GPUs is cancelled. Only what the driver said counts: while it does not answer, no job is stopped for either.`},
	{"ARRAYS", `'gpusched submit --array 0-199%4 -- ./fold.sh' queues 200 tasks of which at most 4 run at once. They wait as one line of the queue, 7_[0-199%4]; each that starts becomes a job of its own, which is named 7_3 everywhere, and finds its number in GPUSCHED_ARRAY_TASK and the array's in GPUSCHED_ARRAY_JOB. What is said of job 7 is said of all: 'gpusched cancel 7' ends all tasks, also those that have not started, 'gpusched cancel 7_3' takes out that task alone, 'gpusched hold 7' starts no more, 'gpusched wait 7' waits for the last. An array is completed when all its tasks are, and failed if one was not.

With --param the tasks are the combinations of values instead: --param lr=1e-3,1e-4 --param seed=1,2,3 makes six, numbered from 0, in which {lr} and {seed} in the command are replaced. --array then only says how many run at once: --array %2.`},
	{"DEPENDENCIES", `--after ID waits until a job has started, --after-ok until it has completed, --after-fail until it has ended in any other way, --after-any until it has ended. Several are all waited for. A job whose dependency can't be met any more is cancelled, and its result says why. An array has completed when all its tasks have.

    first=$(gpusched submit -q -- ./prepare.sh)
    gpusched submit --after-ok "$first" -- ./train.sh
    gpusched submit --after-fail "$first" -g 0 -- ./report-failure.sh`},
	{"TIME LIMITS AND RETRIES", `At its time limit (--time) a job gets SIGTERM and after its grace SIGKILL. With --signal USR1@60s it is warned before, also when it is --preemptible and has to make room. With --on-timeout requeue it goes to the end of the queue instead of ending and starts again later, so it should save what it has done.

With --retries 3 a job that fails, is killed for memory or is lost is started again up to three times: first after the time that --backoff says (5 seconds unless the site says otherwise), then after twice as long each time, up to an hour. A job that was cancelled or met its time limit is not.`},
	{"PREEMPTION", `A job submitted with --preemptible, or in the class scavenger, may be stopped for one that goes first and does not fit otherwise. It has run for a while before that can happen, gets SIGTERM and its grace to save what it has done, and goes back to the queue, where it keeps the place that its waiting earned. Other jobs are never stopped for one that waits. 'gpusched show' lists the starts of a job and what ended each.`},
	{"THE SAME JOB TWICE", `With --dedup nothing is queued if you already have a job of the same content that waits, runs or has completed: the same command, directory, mode of the environment (--env) and variables set with -e. The answer is that job. One that failed or was cancelled is forgotten, so that it can be submitted again.`},
	{"RESERVATIONS", `An administrator can keep GPUs for some users over a time with 'gpusched reserve make'. While it lasts, only their jobs start on these GPUs. Before it begins, jobs of others start there only if their time limit ends them in time, so short limits help to get in. Nothing that runs is stopped. 'gpusched gpus' and 'gpusched reserve list' show the reservations.`},
	{"EXAMPLES", `    gpusched submit -- python train.py
    gpusched submit -g 2 --gpu-mem 40G -t 12h -n big-run -- torchrun --standalone --nproc-per-node 2 train.py
    gpusched list
    gpusched why @
    gpusched logs -f @
    gpusched cancel @
    gpusched wait @ && ./collect-results.sh`},
}
