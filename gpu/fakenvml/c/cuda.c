// A libcuda.so.1 that computes on the host what gpu/nvml/cuda asks for. What it answers is the key cuda of
// the GPU: see doc.go of the Go package.
#define _GNU_SOURCE
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_DEVICE 100
#define INVALID_VALUE 1

typedef unsigned long long address;

static struct fake_gpu gpu; // the first one that this process sees
static int ready;

// A node without a driver gives ENXIO after the device filter has allowed it.
static int opens(const struct fake_gpu *g)
{
	const char *dev = getenv("SIMCUDA_DEV");
	char path[4096];
	snprintf(path, sizeof path, "%s/nvidia%d", dev && *dev ? dev : "/dev", g->minor);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == ENXIO || errno == ENODEV;
}

// Finds the first GPU of CUDA_VISIBLE_DEVICES, which has indexes among the GPUs that open, or UUIDs.
static int find(void)
{
	static struct fake_gpu all[FAKE_MAX_GPUS];
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	int n = fake_gpus(all, FAKE_MAX_GPUS), at = 0;
	for (int i = 0; i < n; i++) {
		size_t length = strlen(all[i].uuid);
		if (!opens(&all[i]))
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
		{2, "CUDA_ERROR_OUT_OF_MEMORY"}, {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {100, "CUDA_ERROR_NO_DEVICE"},
		{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}, {999, "CUDA_ERROR_UNKNOWN"},
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
