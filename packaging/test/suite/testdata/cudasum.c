// cudasum adds two vectors on every GPU that CUDA shows it, and checks the sums.
// It needs no CUDA toolkit: what it uses of libcuda.so.1 it looks up at run time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ELEMENTS (1U << 20)
#define THREADS 256
#define MAX_DEVICES 64
#define NO_DEVICE 3 // the exit status where cuInit does not succeed

// What cuda.h declares of the driver's interface, whose names and types never change.
typedef int result;
typedef int device;
typedef unsigned long long address;
typedef struct { unsigned char bytes[16]; } uuid;
typedef void *handle;

static struct {
	result (*init)(unsigned);
	result (*error_name)(result, const char **);
	result (*driver_version)(int *);
	result (*count)(int *);
	result (*get)(device *, int);
	result (*name)(char *, int, device);
	result (*uuid)(uuid *, device);
	result (*bus_id)(char *, int, device);
	result (*create)(handle *, unsigned, device);
	result (*use)(handle);
	result (*alloc)(address *, size_t);
	result (*to_gpu)(address, const void *, size_t);
	result (*from_gpu)(void *, address, size_t);
	result (*load)(handle *, const void *);
	result (*function)(handle *, handle, const char *);
	result (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
	result (*synchronize)(void);
} cu;

static const struct { void **to; const char *name; } functions[] = {
	{(void **)&cu.init, "cuInit"},
	{(void **)&cu.error_name, "cuGetErrorName"},
	{(void **)&cu.driver_version, "cuDriverGetVersion"},
	{(void **)&cu.count, "cuDeviceGetCount"},
	{(void **)&cu.get, "cuDeviceGet"},
	{(void **)&cu.name, "cuDeviceGetName"},
	{(void **)&cu.uuid, "cuDeviceGetUuid_v2"},
	{(void **)&cu.bus_id, "cuDeviceGetPCIBusId"},
	{(void **)&cu.create, "cuCtxCreate_v2"},
	{(void **)&cu.use, "cuCtxSetCurrent"},
	{(void **)&cu.alloc, "cuMemAlloc_v2"},
	{(void **)&cu.to_gpu, "cuMemcpyHtoD_v2"},
	{(void **)&cu.from_gpu, "cuMemcpyDtoH_v2"},
	{(void **)&cu.load, "cuModuleLoadData"},
	{(void **)&cu.function, "cuModuleGetFunction"},
	{(void **)&cu.launch, "cuLaunchKernel"},
	{(void **)&cu.synchronize, "cuCtxSynchronize"},
};

static const char ptx[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry add(.param .u64 add_a, .param .u64 add_b, .param .u64 add_c, .param .u32 add_n)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<6>;\n"
	"	.reg .f32 %f<4>;\n"
	"	.reg .b64 %rd<8>;\n"
	"	mov.u32 %r1, %ctaid.x;\n"
	"	mov.u32 %r2, %ntid.x;\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n"
	"	ld.param.u32 %r5, [add_n];\n"
	"	setp.ge.u32 %p1, %r4, %r5;\n"
	"	@%p1 bra DONE;\n"
	"	mul.wide.u32 %rd1, %r4, 4;\n"
	"	ld.param.u64 %rd2, [add_a];\n"
	"	cvta.to.global.u64 %rd3, %rd2;\n"
	"	add.s64 %rd3, %rd3, %rd1;\n"
	"	ld.param.u64 %rd4, [add_b];\n"
	"	cvta.to.global.u64 %rd5, %rd4;\n"
	"	add.s64 %rd5, %rd5, %rd1;\n"
	"	ld.param.u64 %rd6, [add_c];\n"
	"	cvta.to.global.u64 %rd7, %rd6;\n"
	"	add.s64 %rd7, %rd7, %rd1;\n"
	"	ld.global.f32 %f1, [%rd3];\n"
	"	ld.global.f32 %f2, [%rd5];\n"
	"	add.f32 %f3, %f1, %f2;\n"
	"	st.global.f32 [%rd7], %f3;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n";

struct options {
	unsigned long long mem;
	double hold;
	int again, busy, steps, time;
};

// What the program has on one GPU.
struct gpu {
	handle context, add;
	address a, b, c, more;
};

static struct timespec began;
static float a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];

static const char usage_text[] =
	"usage: cudasum [options]\n"
	"  --mem SIZE      take so much more memory on each GPU (512M, 2G)\n"
	"  --hold SECONDS  stay for so long once the sums are right\n"
	"  --busy          with --hold: and keep the GPUs computing\n"
	"  --steps N       with --mem: add N times more on the first GPU, 50 ms apart, and check all its memory\n"
	"  --again N       N times after each other, half a second apart, each time in a process that opens CUDA anew\n"
	"  --time          tell the microseconds from the program's beginning to the end of cuInit and of the first sum\n"
	"It exits with 3 where CUDA finds no GPU.\n";

__attribute__((noreturn, format(printf, 1, 2)))
static void die(const char *form, ...)
{
	va_list args;
	va_start(args, form);
	fputs("cudasum: ", stderr);
	vfprintf(stderr, form, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static void die_usage(const char *what, const char *value)
{
	fprintf(stderr, "cudasum: bad %s %s\n%s", what, value, usage_text);
	exit(2);
}

// Not strtoul and the like: they would tie the program to the C library that it was built with.
static double number_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);
	if (end == text || *end || !(n >= 0))
		die_usage("number", text);
	return n;
}

static unsigned long long size_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);
	unsigned long long unit = 1;
	switch (*end) {
	case 'M': unit = 1ULL << 20; end++; break;
	case 'G': unit = 1ULL << 30; end++; break;
	}
	if (end == text || *end || !(n >= 0))
		die_usage("size", text);
	return (unsigned long long)(n * (double)unit);
}

static struct options parse(int argc, char **argv)
{
	static const struct option longs[] = {{"mem", 1, 0, 'm'}, {"hold", 1, 0, 'h'}, {"busy", 0, 0, 'b'},
		{"again", 1, 0, 'a'}, {"steps", 1, 0, 's'}, {"time", 0, 0, 't'}, {"help", 0, 0, '?'}, {0}};
	struct options o = {0};
	for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
		switch (option) {
		case 'm': o.mem = size_of(optarg); break;
		case 'h': o.hold = number_of(optarg); break;
		case 'b': o.busy = 1; break;
		case 'a': o.again = (int)number_of(optarg); break;
		case 's': o.steps = (int)number_of(optarg); break;
		case 't': o.time = 1; break;
		default: fputs(usage_text, stderr); exit(2);
		}
	}
	if (optind < argc)
		die_usage("argument", argv[optind]);
	return o;
}

static double seconds_since(const struct timespec *from)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

static void nap(double seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static const char *error_name(result r)
{
	const char *name = NULL;
	return cu.error_name(r, &name) == 0 && name ? name : "an error without a name";
}

static void must(const char *doing, result r)
{
	if (r)
		die("%s: %d %s", doing, r, error_name(r));
}

static void open_cuda(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		die("%s", dlerror());
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		*functions[i].to = dlsym(lib, functions[i].name);
		if (!*functions[i].to)
			die("%s", dlerror());
	}
	result r = cu.init(0);
	if (r) {
		printf("cuInit: %d %s\n", r, error_name(r));
		exit(NO_DEVICE);
	}
}

static void describe(int index, device d)
{
	char name[256] = "", bus[64] = "", hex[40], *at = hex;
	uuid id;
	must("cuDeviceGetName", cu.name(name, sizeof name, d));
	must("cuDeviceGetPCIBusId", cu.bus_id(bus, sizeof bus, d));
	must("cuDeviceGetUuid", cu.uuid(&id, d));
	for (int i = 0; i < 16; i++)
		at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id.bytes[i]);
	printf("device %d UUID GPU-%s PCI %s NAME %s\n", index, hex, bus, name);
}

// Takes what the program needs on a GPU, and mem besides.
static struct gpu prepare(device d, unsigned long long mem)
{
	struct gpu g;
	handle module;
	must("cuCtxCreate", cu.create(&g.context, 0, d));
	must("cuMemAlloc", cu.alloc(&g.a, sizeof a));
	must("cuMemAlloc", cu.alloc(&g.b, sizeof b));
	must("cuMemAlloc", cu.alloc(&g.c, sizeof c));
	if (mem)
		must("cuMemAlloc of --mem", cu.alloc(&g.more, mem));
	must("cuMemcpyHtoD", cu.to_gpu(g.a, a, sizeof a));
	must("cuMemcpyHtoD", cu.to_gpu(g.b, b, sizeof b));
	must("cuModuleLoadData", cu.load(&module, ptx));
	must("cuModuleGetFunction", cu.function(&g.add, module, "add"));
	return g;
}

static void launch(struct gpu *g)
{
	unsigned n = ELEMENTS;
	void *arguments[] = {&g->a, &g->b, &g->c, &n};
	must("cuCtxSetCurrent", cu.use(g->context));
	must("cuLaunchKernel", cu.launch(g->add, ELEMENTS / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
	must("cuCtxSynchronize", cu.synchronize());
}

static void check(const struct gpu *g, int index)
{
	memset(c, 0, sizeof c);
	must("cuMemcpyDtoH", cu.from_gpu(c, g->c, sizeof c));
	for (unsigned i = 0; i < ELEMENTS; i++)
		if (c[i] != a[i] + b[i])
			die("device %d: %f + %f is said to be %f", index, (double)a[i], (double)b[i], (double)c[i]);
	printf("sum ok\n");
}

static void hold(const struct options *o, struct gpu *gpus, int n)
{
	struct timespec from;
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (o->busy && seconds_since(&from) < o->hold)
		for (int i = 0; i < n; i++)
			launch(&gpus[i]);
	if (!o->busy)
		nap(o->hold);
}

// Fills the memory besides with a vector. Each step adds the other vector to the result of the step before.
static void step(const struct options *o, struct gpu *g)
{
	unsigned long long sum = 0, done;
	for (done = 0; done + sizeof a <= o->mem; done += sizeof a)
		must("cuMemcpyHtoD", cu.to_gpu(g->more + done, a, sizeof a));
	for (int s = 1; s <= o->steps; s++, nap(0.05)) {
		address result = g->c;
		g->c = g->b;
		g->b = result;
		for (unsigned i = 0; i < ELEMENTS; i++)
			b[i] = a[i] + b[i];
		launch(g);
		printf("step %d\n", s);
	}
	for (done = 0; done + sizeof a <= o->mem; done += sizeof a) {
		must("cuMemcpyDtoH", cu.from_gpu(c, g->more + done, sizeof c));
		if (memcmp(c, a, sizeof a))
			die("the memory is not as before at %llu", done);
	}
	check(g, 0);
	for (unsigned i = 0; i < ELEMENTS; i++)
		sum = sum * 31 + (unsigned long long)c[i];
	printf("steps ok %llx\n", sum);
}

static void compute(const struct options *o)
{
	static struct gpu gpus[MAX_DEVICES];
	int version = 0, n = 0;
	open_cuda();
	double init = seconds_since(&began), first = 0;
	must("cuDriverGetVersion", cu.driver_version(&version));
	must("cuDeviceGetCount", cu.count(&n));
	printf("cuda %d.%d with %d device%s\n", version / 1000, version % 1000 / 10, n, n == 1 ? "" : "s");
	if (n > MAX_DEVICES)
		die("%d devices are more than %d", n, MAX_DEVICES);
	for (unsigned i = 0; i < ELEMENTS; i++) {
		a[i] = (float)i;
		b[i] = (float)(i % 1000);
	}
	for (int i = 0; i < n; i++) {
		device d;
		must("cuDeviceGet", cu.get(&d, i));
		describe(i, d);
		gpus[i] = prepare(d, o->mem);
		launch(&gpus[i]);
		first = first > 0 ? first : seconds_since(&began);
		check(&gpus[i], i);
	}
	if (o->time)
		printf("time init %.0f first %.0f\n", init * 1e6, first * 1e6);
	if (o->steps && n)
		step(o, &gpus[0]);
	if (o->hold > 0) {
		printf("holds\n");
		hold(o, gpus, n);
	}
}

// The parent never opens CUDA, whose state no child could use.
static int again(const struct options *o)
{
	for (int i = 1; i <= o->again; i++) {
		pid_t pid = fork();
		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (pid == 0) {
			clock_gettime(CLOCK_MONOTONIC, &began);
			compute(o);
			exit(0);
		}
		int status;
		while (waitpid(pid, &status, 0) < 0)
			if (errno != EINTR)
				die("waitpid: %s", strerror(errno));
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		printf("turn %d of %d: exit status %d\n", i, o->again, code);
		if (code)
			return code;
		nap(0.5);
	}
	return 0;
}

int main(int argc, char **argv)
{
	clock_gettime(CLOCK_MONOTONIC, &began);
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct options o = parse(argc, argv);
	if (o.again)
		return again(&o);
	compute(&o);
	return 0;
}
