// A libcuda.so.1 that computes on the host what gpu/nvml/cuda asks for. What it answers is the key cuda of
// the GPU: see doc.go of the Go package.
#define _GNU_SOURCE
#include "state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY, NOT_INITIALIZED, NO_DEVICE = 100, INVALID_DEVICE, ILLEGAL_STATE = 401,
	NOT_READY = 600, NOT_PERMITTED = 800, UNKNOWN = 999 };

typedef unsigned long long address;

static struct fake_gpu gpu; // the first one that this process sees
static int ready;

// Finds the first GPU of CUDA_VISIBLE_DEVICES, which has indexes among the GPUs that open, or UUIDs.
static int find(void)
{
	static struct fake_gpu all[FAKE_MAX_GPUS];
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	int n = fake_gpus(all, FAKE_MAX_GPUS), at = 0;
	for (int i = 0; i < n; i++) {
		size_t length = strlen(all[i].uuid);
		if (!fake_opens(&all[i]))
			continue;
		if (!visible || !strncmp(visible, all[i].uuid, length) || (*visible >= '0' && *visible <= '9' && atoi(visible) == at)) {
			gpu = all[i];
			return 1;
		}
		at++;
	}
	return 0;
}

int cuInit(unsigned flags)
{
	if (flags)
		return INVALID_VALUE;
	if (!find())
		return NO_DEVICE;
	while (gpu.cuda == CUDA_HANGS)
		pause();
	ready = gpu.cuda <= 0;
	return ready ? 0 : gpu.cuda;
}

int cuGetErrorName(int error, const char **name)
{
	static const struct { int number; const char *name; } names[] = {
		{1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
		{100, "CUDA_ERROR_NO_DEVICE"}, {101, "CUDA_ERROR_INVALID_DEVICE"}, {600, "CUDA_ERROR_NOT_READY"},
		{801, "CUDA_ERROR_NOT_SUPPORTED"}, {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}, {999, "CUDA_ERROR_UNKNOWN"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].number == error) {
			*name = names[i].name;
			return 0;
		}
	return INVALID_VALUE;
}

int cuDeviceGet(int *device, int index)
{
	*device = 0;
	return ready && index == 0 ? 0 : INVALID_VALUE;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	*context = &gpu;
	return flags || device ? INVALID_VALUE : 0;
}

int cuMemAlloc_v2(address *at, size_t bytes)
{
	void *p = malloc(bytes);
	*at = (address)(unsigned long)p;
	return p ? 0 : 2;
}

int cuMemcpyHtoD_v2(address to, const void *from, size_t bytes)
{
	memcpy((void *)(unsigned long)to, from, bytes);
	return 0;
}

int cuMemcpyDtoH_v2(void *to, address from, size_t bytes)
{
	memcpy(to, (const void *)(unsigned long)from, bytes);
	return 0;
}

int cuModuleLoadData(void **module, const void *ptx)
{
	*module = &gpu;
	return strstr(ptx, ".entry add(") ? 0 : INVALID_VALUE;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	*function = module;
	return strcmp(name, "add") ? INVALID_VALUE : 0;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
	void *stream, void **arguments, void **extra)
{
	const float *a = *(float **)arguments[0], *b = *(float **)arguments[1];
	float *c = *(float **)arguments[2];
	unsigned n = *(unsigned *)arguments[3];
	if (!f || gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || stream || extra)
		return INVALID_VALUE;
	for (unsigned i = 0; i < n && i < gx * bx; i++)
		c[i] = a[i] + b[i];
	if (gpu.cuda == CUDA_WRONG_SUMS)
		c[n / 2] += 1;
	return 0;
}

int cuCtxSynchronize(void) { return 0; }

// What the file "park" says of the calls that park a process.
struct rules {
	char fail[16], hang[16], die[16];
	int error, pid, failed, init, ms_per_gib;
};

static struct rules rules(int pid)
{
	struct rules r = {0};
	char path[4096], text[512] = "";
	snprintf(path, sizeof path, "%s/park", fake_dir());
	FILE *f = fopen(path, "re");
	if (f) {
		text[fread(text, 1, sizeof text - 1, f)] = 0;
		fclose(f);
	}
	for (char *save, *w = strtok_r(text, " \t\r\n", &save); w; w = strtok_r(NULL, " \t\r\n", &save))
		(void)(sscanf(w, "fail=%15[a-z]:%d", r.fail, &r.error) || sscanf(w, "hang=%15s", r.hang) ||
			sscanf(w, "die=%15s", r.die) || sscanf(w, "pid=%d", &r.pid) || sscanf(w, "failed=%d", &r.failed) || sscanf(w, "init=%d", &r.init) ||
			sscanf(w, "ms_per_gib=%d", &r.ms_per_gib));
	if (r.pid && r.pid != pid)
		r.fail[0] = r.hang[0] = r.die[0] = 0;
	return r;
}

// Every call on a process begins here. Returns an error, or 0 with the claims of the process.
static int enter(const char *call, int pid, struct fake_claim *claims, int *n)
{
	struct rules r = rules(pid);
	if (!strcmp(r.die, call))
		raise(SIGKILL);
	for (; !strcmp(r.hang, call); r = rules(pid))
		usleep(10000);
	if (r.init && !ready)
		return NOT_INITIALIZED;
	if (!strcmp(r.fail, call))
		return r.failed && fake_set_state(pid, FAILED) ? UNKNOWN : r.error;
	if (kill(pid, 0) && errno == EPERM)
		return NOT_PERMITTED;
	*n = fake_claims_of(claims, FAKE_MAX_GPUS, pid);
	return *n > 0 ? 0 : INVALID_VALUE; // a process that uses no CUDA
}

// Returns whether the GPUs of a parked process have room for it. The caller has the lock of the claims.
static int room(const struct fake_claim *wants, int n)
{
	static struct fake_gpu gpus[FAKE_MAX_GPUS];
	static struct fake_claim taken[FAKE_MAX_CLAIMS];
	int count = fake_gpus(gpus, FAKE_MAX_GPUS), others = fake_claims(taken, FAKE_MAX_CLAIMS, -1);
	for (int i = 0; i < n; i++) {
		int at = 0;
		while (at < count && gpus[at].minor != wants[i].minor)
			at++;
		if (at >= count || !fake_opens(&gpus[at]))
			return INVALID_DEVICE;
		if (fake_free(&gpus[at], taken, others) < wants[i].bytes)
			return OUT_OF_MEMORY;
	}
	return 0;
}

// A GPU and the one that takes over, and the argument of restore, as in cuda.h.
struct move { unsigned char from[16], to[16]; };
struct moves { const struct move *list; unsigned n; };

// Returns the GPU with a UUID, or one without a name.
static const struct fake_gpu *gpu_of(const unsigned char *u)
{
	static struct fake_gpu gpus[FAKE_MAX_GPUS], none = {.minor = -1};
	char uuid[64] = "GPU-";
	for (int i = 0; i < 16; i++)
		sprintf(uuid + strlen(uuid), i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
	for (int i = fake_gpus(gpus, FAKE_MAX_GPUS) - 1; i >= 0; i--)
		if (!strcmp(gpus[i].uuid, uuid))
			return &gpus[i];
	return &none;
}

// Changes the GPUs of claims. Each must be in a move, and no two get the same GPU.
static int redirect(struct fake_claim *claims, int n, const struct moves *moves)
{
	for (int i = 0; i < n; i++) {
		unsigned at = 0;
		while (at < moves->n && gpu_of(moves->list[at].from)->minor != claims[i].minor)
			at++;
		if (at >= moves->n)
			return INVALID_VALUE;
		const struct fake_gpu from = *gpu_of(moves->list[at].from), to = *gpu_of(moves->list[at].to);
		if (strcmp(from.name, to.name) || from.mem_mib != to.mem_mib)
			return INVALID_DEVICE;
		claims[i].minor = to.minor;
		for (int j = 0; j < i; j++)
			if (claims[j].minor == to.minor)
				return INVALID_VALUE;
	}
	return 0;
}

// Renames claims to those of other GPUs, first to names that do not count, since GPUs may be exchanged.
static int rename_claims(const struct fake_claim *from, const struct fake_claim *to, int n)
{
	char is[4096], aside[4096], will[4096];
	for (int i = 0; i < 2 * n; i++) {
		snprintf(is, sizeof is, "%s/claims/%d-%d", fake_dir(), from[i % n].pid, from[i % n].minor);
		snprintf(aside, sizeof aside, "%s/claims/.%d-%d.moves", fake_dir(), from[i % n].pid, from[i % n].minor);
		snprintf(will, sizeof will, "%s/claims/%d-%d", fake_dir(), to[i % n].pid, to[i % n].minor);
		if (i < n ? rename(is, aside) : rename(aside, will))
			return UNKNOWN;
	}
	return 0;
}

// Takes a process from one state to another. As in the driver, a thread of the process does it, so none
// of these calls returns while the process is frozen, but cuCheckpointProcessLock gives up.
static int change(const char *call, int pid, int from, int to, unsigned give_up_ms, const struct moves *moves)
{
	static struct fake_claim claims[FAKE_MAX_GPUS], moved[FAKE_MAX_GPUS];
	unsigned long long mib = 0;
	int n, error = enter(call, pid, claims, &n);
	if (error)
		return error;
	if (fake_state(pid) != from)
		return ILLEGAL_STATE;
	for (unsigned ms = 0; fake_frozen(pid); ms += 10) {
		if (give_up_ms && ms >= give_up_ms)
			return NOT_READY;
		usleep(10000);
	}
	for (int i = 0; i < n; i++)
		mib += claims[i].bytes / FAKE_MIB;
	if (from == PARKED || to == PARKED)
		usleep(mib * rules(pid).ms_per_gib * 1000 / 1024);
	int lock = fake_lock();
	memcpy(moved, claims, sizeof moved);
	error = lock < 0 ? UNKNOWN : moves && moves->n ? redirect(moved, n, moves) : 0;
	if (!error && from == PARKED)
		error = room(moved, n);
	if (!error && moves && moves->n)
		error = rename_claims(claims, moved, n);
	if (!error && fake_set_state(pid, to))
		error = UNKNOWN;
	close(lock);
	return error;
}

int cuCheckpointProcessGetState(int pid, int *state)
{
	static struct fake_claim claims[FAKE_MAX_GPUS];
	int n, error = enter("state", pid, claims, &n);
	*state = fake_state(pid);
	return error;
}

int cuCheckpointProcessLock(int pid, const unsigned *timeout_ms) { return change("lock", pid, RUNNING, LOCKED, *timeout_ms, NULL); }
int cuCheckpointProcessCheckpoint(int pid) { return change("checkpoint", pid, LOCKED, PARKED, 0, NULL); }
int cuCheckpointProcessRestore(int pid, const struct moves *moves) { return change("restore", pid, PARKED, LOCKED, 0, moves); }
int cuCheckpointProcessUnlock(int pid) { return change("unlock", pid, LOCKED, RUNNING, 0, NULL); }
