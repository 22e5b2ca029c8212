#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS (4U << 20)
#define THREADS 256

typedef int device;
typedef unsigned long long address;
typedef void *handle;

static struct {
	result (*init)(unsigned);
	result (*get)(device *, int);
	result (*create)(handle *, unsigned, device);
	result (*alloc)(address *, size_t);
	result (*to_gpu)(address, const void *, size_t);
	result (*from_gpu)(void *, address, size_t);
	result (*load)(handle *, const void *);
	result (*function)(handle *, handle, const char *);
	result (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
	result (*synchronize)(void);
} cu;

static const struct function functions[] = {
	{(void **)&cu.init, "cuInit"},
	{(void **)&cu.get, "cuDeviceGet"},
	{(void **)&cu.create, "cuCtxCreate_v2"},
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

#define MUST(call, ...) do { result r = (__VA_ARGS__); if (r) { cuda_failed(why, size, call, r); return CUDA_ERROR; } } while (0)

static int add(float *a, float *b, float *c, char *why, size_t size)
{
	const size_t bytes = ELEMENTS * sizeof *a;
	unsigned n = ELEMENTS;
	device d;
	handle context, module, kernel;
	address on_a, on_b, on_c;
	void *arguments[] = {&on_a, &on_b, &on_c, &n};
	MUST("cuInit", cu.init(0));
	MUST("cuDeviceGet", cu.get(&d, 0));
	MUST("cuCtxCreate", cu.create(&context, 0, d));
	MUST("cuMemAlloc", cu.alloc(&on_a, bytes));
	MUST("cuMemAlloc", cu.alloc(&on_b, bytes));
	MUST("cuMemAlloc", cu.alloc(&on_c, bytes));
	MUST("cuMemcpyHtoD", cu.to_gpu(on_a, a, bytes));
	MUST("cuMemcpyHtoD", cu.to_gpu(on_b, b, bytes));
	MUST("cuModuleLoadData", cu.load(&module, ptx));
	MUST("cuModuleGetFunction", cu.function(&kernel, module, "add"));
	MUST("cuLaunchKernel", cu.launch(kernel, ELEMENTS / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
	MUST("cuCtxSynchronize", cu.synchronize());
	MUST("cuMemcpyDtoH", cu.from_gpu(c, on_c, bytes));
	return CUDA_WELL;
}

int cuda_compute(char *why, unsigned long size)
{
	float *a = malloc(3 * ELEMENTS * sizeof *a), *b = a + ELEMENTS, *c = b + ELEMENTS;
	int is = cuda_open(functions, sizeof functions / sizeof *functions, why, size);
	if (is != CUDA_WELL)
		return is;
	if (!a) {
		snprintf(why, size, "no memory for the vectors");
		return CUDA_ERROR;
	}
	for (unsigned i = 0; i < ELEMENTS; i++) {
		a[i] = (float)i;
		b[i] = (float)(i % 1000);
	}
	memset(c, 0, ELEMENTS * sizeof *c);
	if ((is = add(a, b, c, why, size)) != CUDA_WELL)
		return is;
	for (unsigned i = 0; i < ELEMENTS; i++)
		if (c[i] != a[i] + b[i]) {
			snprintf(why, size, "wrong sums: %.0f + %.0f is said to be %.0f", (double)a[i], (double)b[i], (double)c[i]);
			return CUDA_WRONG_SUMS;
		}
	return CUDA_WELL;
}
