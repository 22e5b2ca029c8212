#include "library.h"

#include <stddef.h>

#define NOT_INITIALIZED 3
#define LOCK_MS 10000

// As in cuda.h of CUDA 12.8, and of CUDA 13 for gpus and n, which only restore has. Zeros are the defaults.
struct lock_arguments { unsigned timeout_ms, reserved0; unsigned long long reserved[7]; };
struct arguments { const struct move *gpus; unsigned n, reserved[13]; };

_Static_assert(sizeof(struct arguments) == 64 && offsetof(struct arguments, n) == 8, "as in cuda.h");
_Static_assert(sizeof(struct move) == 32 && offsetof(struct move, to) == 16, "as in cuda.h");

static result (*init)(unsigned);
static result (*get_state)(int, int *);
static result (*lock)(int, struct lock_arguments *);
static result (*moves[PARK_UNLOCK + 1])(int, struct arguments *);

static const struct function functions[] = { // in the order of park.h
	{(void **)&get_state, "cuCheckpointProcessGetState"},
	{(void **)&lock, "cuCheckpointProcessLock"},
	{(void **)&moves[PARK_CHECKPOINT], "cuCheckpointProcessCheckpoint"},
	{(void **)&moves[PARK_RESTORE], "cuCheckpointProcessRestore"},
	{(void **)&moves[PARK_UNLOCK], "cuCheckpointProcessUnlock"},
	{(void **)&init, "cuInit"},
};

int cuda_park_open(char *why, unsigned long size)
{
	return cuda_open(functions, sizeof functions / sizeof *functions, why, size);
}

static result make(int call, int pid, const struct move *gpus, unsigned n, int *state)
{
	struct lock_arguments locking = {.timeout_ms = LOCK_MS};
	struct arguments none = {0}, moving = {.gpus = gpus, .n = n};
	switch (call) {
	case PARK_STATE: return get_state(pid, state);
	case PARK_LOCK: return lock(pid, &locking);
	case PARK_INIT: return init(0);
	default: return moves[call](pid, call == PARK_RESTORE ? &moving : &none);
	}
}

int cuda_park(int call, int pid, const struct move *gpus, unsigned n, int *state, char *why, unsigned long size)
{
	result r = make(call, pid, gpus, n, state);
	if (r == NOT_INITIALIZED && !init(0)) // NVIDIA does not say which calls need it
		r = make(call, pid, gpus, n, state);
	if (r)
		cuda_failed(why, size, functions[call].name, r);
	return r;
}
