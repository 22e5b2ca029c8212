#pragma once
#include <stddef.h>

// Results of the functions below. Package gpu has the exit statuses of the program that calls them.
enum { CUDA_WELL = 0, CUDA_ERROR = 1, CUDA_WRONG_SUMS = 2, CUDA_NO_LIBRARY = 3 };

// Computes on the first GPU that CUDA shows this process. Writes what went wrong into why.
int cuda_compute(char *why, unsigned long size);

// Looks up the calls that park a process. Returns CUDA_ERROR if the driver is too old for them.
int cuda_park_open(char *why, unsigned long size);

// What cuda_park does: a call on a process, or the initialization of CUDA, which makes no context.
enum { PARK_STATE, PARK_LOCK, PARK_CHECKPOINT, PARK_RESTORE, PARK_UNLOCK, PARK_INIT };

// A GPU and the one that takes over, as in cuda.h of CUDA 13.
struct move { unsigned char from[16], to[16]; };

// Makes a call. PARK_STATE stores the state of the process, and PARK_RESTORE moves it if there are moves. Returns
// CUDA's result, and writes an error into why.
int cuda_park(int call, int pid, const struct move *moves, unsigned n, int *state, char *why, unsigned long size);

// What cuda.h declares of the driver's interface, whose names and types never change.
typedef int result;

// Functions of libcuda.so.1 are looked up at run time. cuda_failed writes which call failed, and how.
struct function { void **to; const char *name; };
int cuda_open(const struct function *functions, size_t n, char *why, size_t size);
void cuda_failed(char *why, size_t size, const char *call, result r);
