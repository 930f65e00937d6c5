// A plug-in whose kernels are HIP: rms_norm, a block for each row. Its host code calls the runtime as any program does, so it runs on a
// GPU, and without one on the software device, where every access is checked (backend-hip/libamdhip64/README.md):
//
//     assay check rms_norm --plugin ./librms_norm.so
//
// build.sh compiles it without ROCm; hipcc -shared -fPIC does it with ROCm. -DBUG reads one element behind each row.
#include <cstring>

#include <hip/hip_runtime.h>

#include "assay.h"

#define THREADS 256

// x, out: rows apart by their strides, in elements; weight: one row. out may be x.
__global__ void rms_norm(const float* x, const float* weight, float* out, int n, int x_stride, int out_stride, float eps) {
    __shared__ float part[THREADS];
    x += (size_t)blockIdx.x * x_stride;
    out += (size_t)blockIdx.x * out_stride;
#ifdef BUG
    const int last = n + 1;
#else
    const int last = n;
#endif
    float sum = 0;
    for (int i = threadIdx.x; i < last; i += THREADS) sum += x[i] * x[i];
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads();
    const float factor = 1.0f / sqrtf(part[0] / n + eps);
    for (int i = threadIdx.x; i < n; i += THREADS) out[i] = x[i] * factor * weight[i];
}

static hipError_t last = hipSuccess;

// What a call returned, as a number of the plug-in's own.
static int32_t checked(hipError_t error) {
    last = error;
    return error == hipErrorOutOfMemory ? ASSAY_OUT_OF_MEMORY : error == hipSuccess ? ASSAY_OK : 1000 + (int32_t)error;
}

static char device[300];

static const char* name() { return device; }
static const char* error() { return hipGetErrorName(last); }

static int32_t supports(const assay_op* op, const char** why) {
    if (!assay_is(op, "rms_norm")) *why = "rms_norm alone is here";
    else if (!assay_all(op, ASSAY_F32)) *why = "rms_norm.hip takes f32";
    else return 1;
    return 0;
}

static int32_t alloc(uint64_t bytes, void** buffer) { return checked(hipMalloc(buffer, bytes ? bytes : 1)); }
static int32_t release(void* buffer) { return checked(hipFree(buffer)); }

static int32_t write(void* buffer, uint64_t offset, const void* bytes, uint64_t count) {
    return checked(hipMemcpy((char*)buffer + offset, bytes, count, hipMemcpyHostToDevice));
}

static int32_t read(void* buffer, uint64_t offset, void* bytes, uint64_t count) {
    return checked(hipMemcpy(bytes, (char*)buffer + offset, count, hipMemcpyDeviceToHost));
}

static float* first(const assay_operand* tensor) { return (float*)((char*)tensor->buffer + tensor->offset); }

static int32_t launch(const assay_op* op) {
    const assay_operand *weight = assay_find(op, "weight"), *out = assay_find(op, "out"), *x = assay_find(op, "x");
    if (!x) x = out;
    rms_norm<<<out->shape[0], THREADS>>>(first(x), first(weight), first(out), (int)out->shape[1], (int)x->strides[0],
                                         (int)out->strides[0], (float)assay_number(op, "eps", 0));
    return checked(hipGetLastError());
}

static int32_t synchronize() { return checked(hipDeviceSynchronize()); }

extern "C" ASSAY_EXPORT const assay_plugin* assay_plugin_open(uint32_t abi) {
    static assay_plugin plugin;
    hipDeviceProp_t properties;
    if (abi != ASSAY_ABI || hipGetDeviceProperties(&properties, 0) != hipSuccess) return nullptr;
    std::strncpy(device, properties.name, sizeof device - 1);
    plugin.abi = ASSAY_ABI;
    plugin.size = sizeof plugin;
    plugin.place = std::strstr(device, "(software)") ? ASSAY_ON_SOFTWARE : ASSAY_ON_GPU;
    plugin.name = name;
    plugin.error = error;
    plugin.supports = supports;
    plugin.alloc = alloc;
    plugin.free = release;
    plugin.write = write;
    plugin.read = read;
    plugin.launch = launch;
    plugin.synchronize = synchronize;
    return &plugin;
}
