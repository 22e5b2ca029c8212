// simcuda behaves like a CUDA program: it sees the GPUs whose nodes it can open, and claims memory on
// them. Its claims end when simcuda ends.
#define _GNU_SOURCE
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FORKS 10000
#define ORPHAN_SECONDS 3600
#define STEP_SECONDS 0.05
#define WORDS 16384

struct options {
	unsigned long long mem, host;
	double hold;
	int orphan, ignore_term, print, oom, forks, exit, util, sum;
	const char *until;
};

static struct fake_gpu gpus[FAKE_MAX_GPUS];
static int gpu_count;
static int visible[FAKE_MAX_GPUS]; // indexes into gpus, in the order of cuda:0, cuda:1 …
static int visible_count;
static unsigned long long claimed; // bytes per visible GPU
static unsigned words[WORDS];      // what this program computes on its GPUs

static const char usage_text[] =
	"usage: simcuda [options]\n"
	"  --print          say which nodes open, CUDA_VISIBLE_DEVICES and GPUSCHED_* variables\n"
	"  --mem SIZE       take so much memory on each visible GPU (512M, 2G)\n"
	"  --util PERCENT   keep each visible GPU so busy (default 90 with --mem)\n"
	"  --hold SECONDS   hold what was taken for so long, and compute a step every 50 ms\n"
	"  --until FILE     end the first of these steps once there is such a file\n"
	"  --sum            print what all steps have computed\n"
	"  --orphan         leave a detached child behind that holds as much, for an hour\n"
	"  --ignore-term    ignore SIGTERM, SIGINT and SIGHUP\n"
	"  --oom            run out of GPU memory\n"
	"  --alloc-host SIZE  touch so much host memory\n"
	"  --fork-bomb N    start N children that live as long as --hold (at most 10000)\n"
	"  --exit N         end with that code\n";

static void die(const char *why)
{
	fprintf(stderr, "simcuda: %s\n", why);
	exit(1);
}

static void die_usage(const char *what, const char *value)
{
	fprintf(stderr, "simcuda: bad %s %s\n%s", what, value, usage_text);
	exit(2);
}

static unsigned long long size_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);
	unsigned long long unit = 1;
	switch (*end) {
	case 'K': case 'k': unit = 1ULL << 10; end++; break;
	case 'M': case 'm': unit = 1ULL << 20; end++; break;
	case 'G': case 'g': unit = 1ULL << 30; end++; break;
	}
	if (end == text || *end || n < 0)
		die_usage("size", text);
	return (unsigned long long)(n * (double)unit);
}

static double number_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);
	if (end == text || *end || n < 0)
		die_usage("number", text);
	return n;
}

static struct options parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{"mem", 1, 0, 'm'}, {"hold", 1, 0, 'h'}, {"orphan", 0, 0, 'o'}, {"ignore-term", 0, 0, 'i'}, {"print", 0, 0, 'p'},
		{"oom", 0, 0, 'O'}, {"alloc-host", 1, 0, 'a'}, {"fork-bomb", 1, 0, 'f'}, {"exit", 1, 0, 'e'}, {"util", 1, 0, 'u'},
		{"sum", 0, 0, 's'}, {"until", 1, 0, 'U'},
		{"help", 0, 0, '?'}, {0}};
	struct options o = {.util = 90};
	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
		switch (c) {
		case 'm': o.mem = size_of(optarg); break;
		case 'a': o.host = size_of(optarg); break;
		case 'h': o.hold = number_of(optarg); break;
		case 'u': o.util = (int)number_of(optarg); break;
		case 'f': o.forks = (int)number_of(optarg); break;
		case 'e': o.exit = (int)number_of(optarg); break;
		case 'o': o.orphan = 1; break;
		case 'i': o.ignore_term = 1; break;
		case 'p': o.print = 1; break;
		case 'O': o.oom = 1; break;
		case 's': o.sum = 1; break;
		case 'U': o.until = optarg; break;
		default: fputs(usage_text, stderr); exit(2);
		}
	}
	if (optind < argc)
		die_usage("argument", argv[optind]);
	if (o.forks > MAX_FORKS)
		die_usage("--fork-bomb, at most 10000, not", "more");
	return o;
}

// Stores in visible those GPUs of CUDA_VISIBLE_DEVICES that this process can open. As in CUDA, the
// first invalid entry ends the list.
static void choose(const int *openable, int n)
{
	const char *env = getenv("CUDA_VISIBLE_DEVICES");
	if (!env) {
		memcpy(visible, openable, n * sizeof *openable);
		visible_count = n;
		return;
	}
	char list[4096];
	snprintf(list, sizeof list, "%s", env);
	for (char *save, *word = strtok_r(list, ", ", &save); word; word = strtok_r(NULL, ", ", &save)) {
		int found = -1;
		char *end;
		long index = strtol(word, &end, 10);
		if (!*end && index >= 0 && index < n)
			found = openable[index];
		for (int i = 0; i < n && *end && strlen(word) > 4; i++)
			if (!strncmp(gpus[openable[i]].uuid, word, strlen(word)))
				found = openable[i];
		if (found < 0 || visible_count == FAKE_MAX_GPUS)
			return;
		visible[visible_count++] = found;
	}
}

static void look(int print)
{
	int openable[FAKE_MAX_GPUS], n = 0;
	gpu_count = fake_gpus(gpus, FAKE_MAX_GPUS);
	if (gpu_count < 0)
		exit(1);
	for (int i = 0; i < gpu_count; i++) {
		int err = fake_open(&gpus[i]);
		if (fake_opens(&gpus[i]))
			openable[n++] = i;
		if (print)
			printf("node nvidia%d %s\n", gpus[i].minor, err == 0 ? "open" : strerrorname_np(err));
	}
	choose(openable, n);
}

static void print_all(char **environ)
{
	const char *env = getenv("CUDA_VISIBLE_DEVICES");
	printf("CUDA_VISIBLE_DEVICES=%s\n", env ? env : "(unset)");
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "GPUSCHED_", 9) || !strncmp(*e, "CUDA_DEVICE_ORDER=", 18) || !strncmp(*e, "NVIDIA_VISIBLE_DEVICES=", 23))
			puts(*e);
	for (int i = 0; i < visible_count; i++)
		printf("cuda:%d nvidia%d %s\n", i, gpus[visible[i]].minor, gpus[visible[i]].uuid);
	printf("uid %d gid %d pid %d\n", getuid(), getgid(), getpid());
	fflush(stdout);
}

static double gib(unsigned long long bytes) { return (double)bytes / (double)(1ULL << 30); }

static void out_of_memory(int cuda, unsigned long long asked, unsigned long long free)
{
	const struct fake_gpu *g = &gpus[visible[cuda]];
	fprintf(stderr, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate %.2f GiB. GPU %d has a total capacity of %.2f GiB of which %.2f GiB is free.\n",
		gib(asked), cuda, gib(g->mem_mib * FAKE_MIB), gib(free));
	exit(1);
}

static void claim_path(char *path, size_t size, const char *form, int minor)
{
	snprintf(path, size, form, fake_dir(), getpid(), minor);
}

static void write_claim(const struct fake_gpu *g, unsigned long long bytes, int util)
{
	char temp[4096], path[4096];
	claim_path(temp, sizeof temp, "%s/claims/.%d-%d", g->minor);
	claim_path(path, sizeof path, "%s/claims/%d-%d", g->minor);
	FILE *f = fopen(temp, "we");
	if (!f || fprintf(f, "%llu start=%llu util=%d\n", bytes, fake_start_time(getpid()), util) < 0 || fclose(f) || rename(temp, path)) {
		fprintf(stderr, "simcuda: %s: %s\n", path, strerror(errno));
		exit(1);
	}
}

// Claims bytes on each visible GPU, or exits. No other simcuda can claim memory meanwhile.
static void claim(unsigned long long bytes, int util)
{
	static struct fake_claim claims[FAKE_MAX_CLAIMS];
	if (visible_count == 0)
		die("RuntimeError: No CUDA GPUs are available");
	int lock = fake_lock();
	if (lock < 0)
		exit(1);
	int n = fake_claims(claims, FAKE_MAX_CLAIMS, -1);
	for (int i = 0; i < visible_count; i++) {
		unsigned long long free = fake_free(&gpus[visible[i]], claims, n);
		if (free < bytes)
			out_of_memory(i, bytes, free);
	}
	for (int i = 0; i < visible_count; i++)
		write_claim(&gpus[visible[i]], bytes, util);
	claimed = bytes;
	close(lock);
}

static void release(void)
{
	char path[4096];
	for (int i = 0; claimed && i < visible_count; i++) {
		claim_path(path, sizeof path, "%s/claims/%d-%d", gpus[visible[i]].minor);
		unlink(path);
	}
}

static void hold(double seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

// Looks which GPUs this process has after it was parked: the driver may have given it others.
static void follow(void)
{
	static struct fake_claim claims[FAKE_MAX_GPUS];
	int n = fake_claims_of(claims, FAKE_MAX_GPUS, getpid());
	visible_count = 0;
	for (int i = 0; i < gpu_count; i++)
		for (int j = 0; j < n; j++)
			if (gpus[i].minor == claims[j].minor)
				visible[visible_count++] = i;
	for (int i = 0; i < visible_count; i++)
		if (!fake_opens(&gpus[visible[i]]))
			die("CUDA error: invalid device ordinal");
}

// Returns once the driver lets this process call CUDA. While its memory is on the host, it holds there its
// words, which are lost on the GPU, and 1 MiB for each GiB that it has on its GPUs.
static void stand_still(void)
{
	size_t size = claimed / 1024 * visible_count + sizeof words;
	void *copy = NULL;
	for (int state; (state = fake_state(getpid())) != RUNNING; hold(STEP_SECONDS / 4)) {
		if (state != PARKED || copy)
			continue;
		memset(copy = malloc(size), 1, size);
		memcpy(copy, words, sizeof words);
		memset(words, 0, sizeof words);
	}
	if (!copy)
		return;
	follow();
	memcpy(words, copy, sizeof words);
	free(copy);
}

// Holds for so long, not counting the time for which this process is parked or waits for the file until,
// and computes meanwhile. Returns a checksum of all steps.
static unsigned long long compute(double seconds, const char *until)
{
	unsigned long long sum = 0;
	if (!claimed)
		hold(seconds);
	for (unsigned step = 0; claimed && step * STEP_SECONDS < seconds; step++) {
		for (unsigned i = 0; i < WORDS; i++)
			words[i] = words[i] * 1664525 + step + i;
		do {
			hold(STEP_SECONDS);
			stand_still();
		} while (until && access(until, F_OK));
	}
	for (unsigned i = 0; i < WORDS; i++)
		sum = (sum ^ words[i]) * 1099511628211ULL;
	return sum;
}


// Starts a child that survives this process, outside its session, process group and process tree.
static void leave_orphan(const struct options *o)
{
	int ready[2];
	char byte;
	if (pipe2(ready, O_CLOEXEC)) {
		perror("simcuda: pipe");
		exit(1);
	}
	pid_t first = fork();
	if (first == 0) {
		setsid();
		if (fork() > 0)
			_exit(0);
		close(ready[0]);
		if (o->mem)
			claim(o->mem, o->util);
		printf("orphan pid %d\n", getpid());
		fflush(stdout);
		close(ready[1]);
		compute(ORPHAN_SECONDS, NULL);
		_exit(0);
	}
	close(ready[1]);
	waitpid(first, NULL, 0);
	while (read(ready[0], &byte, 1) < 0 && errno == EINTR) // until the child has its claim or has ended
		;
	close(ready[0]);
}

static void fork_bomb(int n, double seconds)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			hold(seconds);
			_exit(0);
		}
		if (pid < 0) {
			fprintf(stderr, "simcuda: fork %d of %d: %s\n", i + 1, n, strerror(errno));
			exit(1);
		}
	}
	printf("forked %d\n", n);
	fflush(stdout);
}

static void alloc_host(unsigned long long bytes)
{
	char *p = malloc(bytes);
	if (!p)
		die("MemoryError");
	for (unsigned long long i = 0; i < bytes; i += 4096)
		((volatile char *)p)[i] = 1;
	printf("touched %llu bytes\n", bytes);
	fflush(stdout);
}

int main(int argc, char **argv, char **environ)
{
	struct options o = parse(argc, argv);
	if (o.ignore_term) {
		signal(SIGTERM, SIG_IGN);
		signal(SIGINT, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
	}
	look(o.print);
	if (o.print)
		print_all(environ);
	if (o.oom && visible_count)
		out_of_memory(0, gpus[visible[0]].mem_mib * FAKE_MIB + (1ULL << 30), 0);
	if (o.host)
		alloc_host(o.host);
	if (o.forks)
		fork_bomb(o.forks, o.hold);
	if (o.mem)
		claim(o.mem, o.util);
	if (o.orphan)
		leave_orphan(&o);
	unsigned long long sum = compute(o.hold, o.until);
	if (o.sum)
		printf("sum %016llx\n", sum);
	release();
	return o.exit;
}
