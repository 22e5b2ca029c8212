"""A client of gpusched, the GPU scheduler of one machine.

It runs the command gpusched and reads its JSON. Everything that the command can do is
available here by the same names:

    import gpusched

    job = gpusched.submit("python", "train.py", "--lr", "1e-3", gpus=2, gpu_mem="40G", time="2h")
    ended = gpusched.wait(job["id"])
    print(ended["state"], gpusched.logs(job["id"]))

Options of the command line are keywords: --gpu-mem 40G is gpu_mem="40G", --preemptible
is preemptible=True, --no-requeue is requeue=False, and a list repeats its option, as in
tag=["a=1", "b=2"]. An option that is None is left out. Jobs, GPUs and answers are the
documents of -o json as dictionaries: sizes in bytes, times in UTC, durations in seconds.
Fields are only ever added to them.

A command that fails raises an Error; each exit status has a subclass of its own.
"""

import json
import os
import subprocess

__all__ = [
    "Conflict", "Error", "Forbidden", "Never", "NotFound", "Refused", "Unreachable", "Usage", "WaitTimeout",
    "cancel", "estimate", "events", "gpus", "health", "hold", "list", "logs", "park", "release", "requeue", "resubmit",
    "resume", "run_command", "show", "status", "submit", "suspend", "unpark", "update", "version", "wait", "why",
]

_list = list  # the function of that name hides the built-in one


class Error(Exception):
    """gpusched refused something or failed.

    status is the exit status of the command, and message its error message.
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status, self.message = status, message


class Usage(Error):
    """The request is malformed (2)."""


class NotFound(Error):
    """There is no such job or GPU (3)."""


class Forbidden(Error):
    """The user may not do that (4)."""


class Unreachable(Error):
    """The scheduler does not answer, or the command is not installed (5)."""


class Never(Error):
    """This machine can never do that (6)."""


class WaitTimeout(Error):
    """The wait ended before the job (7)."""


class Refused(Error):
    """The site's rules refuse that (8)."""


class Conflict(Error):
    """Not possible in this state, such as cancelling a job that has ended (1)."""


_KINDS = {1: Conflict, 2: Usage, 3: NotFound, 4: Forbidden, 5: Unreachable, 6: Never, 7: WaitTimeout, 8: Refused}


def _words(options):
    """The command-line options for keywords."""
    words = []
    for name, value in options.items():
        flag = name.strip("_").replace("_", "-")
        for v in value if isinstance(value, (_list, tuple)) else [value]:
            if v is True:
                words.append("--" + flag)
            elif v is False:
                words.append("--no-" + flag)
            elif v is not None:
                words.append("--%s=%s" % (flag, v))
    return words


def _ids(ids):
    """Ids as the command takes them, from numbers, jobs, or words such as "7_3" and "@"."""
    if len(ids) == 1 and isinstance(ids[0], (_list, tuple)):
        ids = ids[0]
    return [str(i["id"] if isinstance(i, dict) else i) for i in ids]


def _run(words):
    try:
        done = subprocess.run(
            [os.environ.get("GPUSCHED", "gpusched"), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        )
    except OSError as e:
        raise Unreachable(5, "gpusched can't be run: %s" % e) from e
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def _fail(status, said):
    lines = [line[len("gpusched: "):] if line.startswith("gpusched: ") else line for line in said.strip().splitlines()]
    raise _KINDS.get(status, Error)(status, "\n".join(lines) or "gpusched ended with status %d" % status)


def run_command(*words, **options):
    """Run a command of gpusched and return its JSON answer as a dictionary."""
    status, out, said = _run([*words, "--json", *_words(options)])
    if status != 0:
        _fail(status, said)
    return json.loads(out)


def submit(*argv, **options):
    """Queue a job and return it. argv is the command: its words, or one list of them. Options are those of submit."""
    if len(argv) == 1 and isinstance(argv[0], (_list, tuple)):
        argv = argv[0]
    if not argv:
        raise Usage(2, "there is no command to run")
    argv = [a if isinstance(a, (str, bytes, os.PathLike)) else str(a) for a in argv]
    status, out, said = _run(["submit", "--json", *_words(options), "--", *argv])
    if status != 0:
        _fail(status, said)
    return json.loads(out)["job"]


def wait(*ids, **options):
    """Wait until jobs have ended and return them: one job for one id, otherwise a list.

    timeout="90s" gives up after that time (WaitTimeout). A job's "state" and "result" say how
    it ended, such as result["exit_code"]. A job that failed raises no Error.
    """
    status, out, said = _run(["wait", "--json", *_words(options), *_ids(ids)])
    jobs = _jobs(out)
    if not jobs:
        _fail(status, said)
    one = len(ids) == 1 and not isinstance(ids[0], (_list, tuple))
    return jobs[0] if one and len(jobs) == 1 else jobs


def _jobs(out):
    """The jobs of an answer; none if the answer is empty."""
    if not out.strip():
        return []
    answer = json.loads(out)
    return answer["jobs"] if "jobs" in answer else [answer["job"]]


def list(*ids, **options):  # the command's name
    """The waiting and running jobs, or the jobs with these ids. all=True adds ended jobs."""
    return run_command("list", *_ids(ids), **options)["jobs"]


def show(id, **options):
    """One job, with everything that is known about it."""
    return run_command("show", *_ids([id]), **options)["job"]


def why(id, **options):
    """Why a job waits, in one sentence; "" if it does not wait."""
    jobs = _jobs(json.dumps(run_command("why", *_ids([id]), **options)).encode())
    return jobs[0].get("why", "") if jobs else ""


def logs(*ids, **options):
    """The output of jobs, as text."""
    status, out, said = _run(["logs", *_words(options), *_ids(ids)])
    if status != 0:
        _fail(status, said)
    return out.decode("utf-8", "replace")


def _act(command, ids, options):
    return _jobs(json.dumps(run_command(command, *_ids(ids), **options)).encode())


def cancel(*ids, **options):
    """End jobs, and return them."""
    return _act("cancel", ids, options)


def hold(*ids, **options):
    """Keep waiting jobs from starting, and return them."""
    return _act("hold", ids, options)


def release(*ids, **options):
    """Release held jobs, and return them."""
    return _act("release", ids, options)


def requeue(*ids, **options):
    """Stop running jobs and queue them again, and return them."""
    return _act("requeue", ids, options)


def suspend(*ids, **options):
    """Suspend running jobs, and return them."""
    return _act("suspend", ids, options)


def resume(*ids, **options):
    """Resume suspended jobs, and return them."""
    return _act("resume", ids, options)


def park(*ids, **options):
    """Park running jobs: move them off their GPUs, into host memory. Return the jobs."""
    return _act("park", ids, options)


def unpark(*ids, **options):
    """Let parked jobs have their GPUs again, and return the jobs."""
    return _act("unpark", ids, options)


def update(*ids, **options):
    """Change jobs, such as time="4h", and return them."""
    return _act("update", ids, options)


def resubmit(*ids, **options):
    """Queue jobs again, and return the new ones."""
    return _act("resubmit", ids, options)


def gpus(**options):
    """The GPUs."""
    return run_command("gpus", **options)["gpus"]


def status(**options):
    """The state of the machine."""
    return run_command("status", **options)


def health(**options):
    """The health of the scheduler. Degraded and failing parts are in the answer and raise no Error."""
    code, out, said = _run(["health", "--json", *_words(options)])
    if not out.strip():
        _fail(code, said)
    return json.loads(out)


def events(follow=False, **options):
    """Yield events, one at a time; follow=True waits for new ones, for ever.

    since=number starts after that event. An event of the kind "gap" says that earlier events
    are no longer kept: list the jobs again.
    """
    words = ["events", "--output=jsonl", *_words(dict(options, follow=follow or None))]
    try:
        run = subprocess.Popen(
            [os.environ.get("GPUSCHED", "gpusched"), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
    except OSError as e:
        raise Unreachable(5, "gpusched can't be run: %s" % e) from e
    with run:
        try:
            for line in run.stdout:
                yield json.loads(line)
            said = run.stderr.read().decode("utf-8", "replace")
            if run.wait() != 0:
                _fail(run.returncode, said)
        finally:
            run.terminate()


def estimate(model, **options):
    """The GPU memory that a model needs."""
    return run_command("estimate", model, **options)


def version():
    """The versions of the command and the scheduler."""
    return run_command("version")
