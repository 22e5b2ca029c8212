// The functions of NVML that gpusched calls, implemented with the state directory. Every other
// export of nvml.h is a generated weak stub that returns NVML_ERROR_NOT_SUPPORTED.
#define _GNU_SOURCE
#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include "device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static int inits, count;                                 // the count is fixed at the first init, as in the real one
static struct fake_gpu cached[FAKE_MAX_GPUS];
static struct stat cached_stat;
static int cached_count = -1;

static int same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

// Reads the GPUs again if the file has been replaced. The caller holds the lock.
static int refresh(void)
{
	char path[4096];
	struct stat st;
	memset(&st, 0, sizeof st);
	snprintf(path, sizeof path, "%s/gpus", fake_dir());
	stat(path, &st);
	if (cached_count < 0 || !same_file(&st, &cached_stat))
		cached_count = fake_gpus(cached, FAKE_MAX_GPUS);
	cached_stat = st;
	return cached_count;
}

static void hang(void)
{
	for (;;)
		pause();
}

// Returns the result of nvmlInit, which the file "init" sets: a code, or "hang"; 0 without the file.
static nvmlReturn_t init_answer(void)
{
	char path[4096], word[32] = "";
	snprintf(path, sizeof path, "%s/init", fake_dir());
	FILE *f = fopen(path, "re");
	if (!f)
		return NVML_SUCCESS;
	int got = fscanf(f, "%31s", word);
	fclose(f);
	if (got == 1 && !strcmp(word, "hang"))
		hang();
	if (got == 1 && !strcmp(word, "crash"))
		abort();
	return atoi(word);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	nvmlReturn_t answer = init_answer();
	if (answer != NVML_SUCCESS)
		return answer;
	pthread_mutex_lock(&lock);
	int n = refresh();
	if (n >= 0 && inits++ == 0)
		count = n;
	pthread_mutex_unlock(&lock);
	return n < 0 ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}

nvmlReturn_t nvmlInit(void) { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

nvmlReturn_t nvmlShutdown(void)
{
	pthread_mutex_lock(&lock);
	int was = inits;
	if (inits > 0)
		inits--;
	pthread_mutex_unlock(&lock);
	return was ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

const char *nvmlErrorString(nvmlReturn_t r)
{
	switch (r) {
	case NVML_SUCCESS: return "The operation was successful";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	case NVML_ERROR_RESET_REQUIRED: return "GPU requires reset";
	case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
	case NVML_ERROR_UNKNOWN: return "Unknown Error";
	default: return "Fake Error";
	}
}

static nvmlReturn_t text(char *to, unsigned int length, const char *value)
{
	return snprintf(to, length, "%s", value) < (int)length ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *v, unsigned int n) { return text(v, n, "580.65.06"); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, unsigned int n) { return text(v, n, "13.580.65.06"); }

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *v)
{
	*v = 13000;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *v) { return nvmlSystemGetCudaDriverVersion(v); }

nvmlReturn_t nvmlDeviceGetCount(unsigned int *n)
{
	pthread_mutex_lock(&lock);
	*n = count;
	int up = inits;
	pthread_mutex_unlock(&lock);
	return up ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *n) { return nvmlDeviceGetCount(n); }

nvmlReturn_t fake_at(unsigned int index, struct fake_gpu *g)
{
	pthread_mutex_lock(&lock);
	int up = inits, n = count, now = refresh();
	if ((int)index < now)
		*g = cached[index];
	pthread_mutex_unlock(&lock);
	if (!up)
		return NVML_ERROR_UNINITIALIZED;
	if ((int)index >= n)
		return NVML_ERROR_INVALID_ARGUMENT;
	return (int)index < now ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	struct fake_gpu g;
	nvmlReturn_t r = fake_at(index, &g);
	if (r == NVML_SUCCESS && g.lost == 2)
		r = NVML_ERROR_GPU_IS_LOST;
	if (r == NVML_SUCCESS)
		device->handle = (struct nvmlDevice_st *)(size_t)(index + 1);
	return r;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByIndex(index, device);
}

#define SLICE_SHIFT 16 // a slice's handle is that of its GPU, with its position from 1 above these bits

nvmlReturn_t fake_enter(nvmlDevice_t device, struct fake_gpu *g)
{
	size_t index = (size_t)device.handle & ((1 << SLICE_SHIFT) - 1), slice = (size_t)device.handle >> SLICE_SHIFT;
	if (index == 0)
		return NVML_ERROR_INVALID_ARGUMENT;
	nvmlReturn_t r = fake_at(index - 1, g);
	if (r != NVML_SUCCESS)
		return r;
	if (g->slow_ms)
		usleep(g->slow_ms * 1000);
	if (g->hang)
		hang();
	if (g->lost || g->error)
		return g->lost ? NVML_ERROR_GPU_IS_LOST : (nvmlReturn_t)g->error;
	return slice && !fake_slice(g, slice - 1) ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned int *n)
{
	ENTER(g);
	*n = g.mig ? 7 : 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned int position, nvmlDevice_t *slice)
{
	ENTER(g);
	if (!g.mig || !fake_slice(&g, position))
		return NVML_ERROR_NOT_FOUND;
	slice->handle = (struct nvmlDevice_st *)((size_t)d.handle | (size_t)(position + 1) << SLICE_SHIFT);
	return NVML_SUCCESS;
}

// Stores a number of a slice, which a GPU does not have.
static nvmlReturn_t of_slice(nvmlDevice_t d, unsigned int *v, unsigned int number)
{
	*v = number;
	return (size_t)d.handle >> SLICE_SHIFT ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned int *v) { ENTER(g); return of_slice(d, v, g.gi); }
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t d, unsigned int *v) { ENTER(g); return of_slice(d, v, g.ci); }

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *v, unsigned int n) { ENTER(g); return text(v, n, g.uuid); }
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *v, unsigned int n) { ENTER(g); return text(v, n, g.name); }
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned int *v) { ENTER(g); *v = g.minor; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned int *v) { ENTER(g); *v = g.power_mw; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned int *v) { ENTER(g); *v = g.limit_mw; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t d, nvmlComputeMode_t *v) { ENTER(g); *v = g.mode; return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t sensor, unsigned int *v)
{
	ENTER(g);
	*v = g.temp;
	return sensor == NVML_TEMPERATURE_GPU ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *v)
{
	ENTER(g);
	memset(v, 0, sizeof *v);
	snprintf(v->busIdLegacy, sizeof v->busIdLegacy, "%s", strlen(g.pci) > 4 ? g.pci + 4 : g.pci);
	return text(v->busId, sizeof v->busId, g.pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t d, nvmlPciInfo_t *v) { return nvmlDeviceGetPciInfo_v3(d, v); }
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t d, nvmlPciInfo_t *v) { return nvmlDeviceGetPciInfo_v3(d, v); }

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int *current, unsigned int *pending)
{
	ENTER(g);
	*current = *pending = g.mig;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned int *corrected, unsigned int *uncorrected, unsigned int *pending, unsigned int *failed)
{
	ENTER(g);
	*corrected = 0;
	*pending = g.rows_pending;
	*failed = g.rows_failed;
	*uncorrected = *pending + *failed;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *v)
{
	ENTER(g);
	for (int i = 0; i < n; i++) {
		int known = v[i].fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION && g.recovery >= 0;
		v[i].nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
		v[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
		v[i].value.uiVal = known ? g.recovery : 0;
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *v)
{
	ENTER(g);
	usleep(g.energy_ms * 1000);
	struct timespec up;
	clock_gettime(CLOCK_BOOTTIME, &up);
	*v = g.energy_mj >= 0 ? g.energy_mj : g.power_mw * up.tv_sec + g.power_mw * (up.tv_nsec / 1000000) / 1000;
	return NVML_SUCCESS;
}

// Returns the live claims on g. The result is valid until the thread's next call.
static const struct fake_claim *claims(const struct fake_gpu *g, int *n)
{
	static __thread struct fake_claim found[FAKE_MAX_CLAIMS];
	*n = fake_claims(found, FAKE_MAX_CLAIMS, g->minor);
	return found;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *v)
{
	ENTER(g);
	int n;
	const struct fake_claim *c = claims(&g, &n);
	if (*g.slices)
		return NVML_ERROR_NOT_SUPPORTED;
	v->gpu = g.util;
	for (int i = 0; i < n; i++)
		if (c[i].util > (int)v->gpu)
			v->gpu = c[i].util;
	v->memory = v->gpu / 2;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *v)
{
	ENTER(g);
	if (v->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (g.unified)
		return NVML_ERROR_NOT_SUPPORTED;
	int n;
	const struct fake_claim *c = claims(&g, &n);
	v->total = g.mem_mib * FAKE_MIB;
	v->reserved = g.reserved_mib * FAKE_MIB;
	v->used = fake_used(&g, c, n);
	v->free = fake_free(&g, c, n);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *v)
{
	nvmlMemory_v2_t w = {.version = nvmlMemory_v2};
	nvmlReturn_t r = nvmlDeviceGetMemoryInfo_v2(d, &w);
	v->total = w.total;
	v->free = w.free;
	v->used = w.used + w.reserved;
	return r;
}

// Calls put(i, claim) for each claim of the kind on d, or reports that the buffer is too small.
static nvmlReturn_t processes(nvmlDevice_t d, int kind, unsigned int *room, void (*put)(void *, int, const struct fake_claim *), void *to)
{
	ENTER(g);
	int n;
	unsigned int found = 0;
	const struct fake_claim *c = claims(&g, &n);
	for (int i = 0; i < n; i++)
		if ((c[i].kinds & kind) && found++ < *room)
			put(to, found - 1, &c[i]);
	nvmlReturn_t r = found > *room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
	*room = found;
	return r;
}

static void put_v1(void *to, int i, const struct fake_claim *c)
{
	((nvmlProcessInfo_v1_t *)to)[i] = (nvmlProcessInfo_v1_t){.pid = c->pid, .usedGpuMemory = c->unknown ? ~0ULL : c->bytes};
}

static void put_v2(void *to, int i, const struct fake_claim *c)
{
	((nvmlProcessInfo_v2_t *)to)[i] = (nvmlProcessInfo_v2_t){
		.pid = c->pid, .usedGpuMemory = c->unknown ? ~0ULL : c->bytes, .gpuInstanceId = ~0U, .computeInstanceId = ~0U};
}

#define LIST(Name, kind)                                                                                                            \
	nvmlReturn_t Name(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_v1_t *to) { return processes(d, kind, n, put_v1, to); }   \
	nvmlReturn_t Name##_v2(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_v2_t *to) { return processes(d, kind, n, put_v2, to); } \
	nvmlReturn_t Name##_v3(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_t *to) { return processes(d, kind, n, put_v2, to); }

LIST(nvmlDeviceGetComputeRunningProcesses, KIND_COMPUTE)
LIST(nvmlDeviceGetGraphicsRunningProcesses, KIND_GRAPHICS)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, KIND_MPS)
