// Arguments go to a kernel as one block of bytes. The count has 2 bytes instead of 8, unless CLEAN is defined. The code object is the
// program's own, so that the kernel is found by the address of its host function.
#include "engine.h"

// Younger than Debian's headers.
extern "C" hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol);

__global__ void scale(float* x, float by, long count) {
    long i = long(blockIdx.x) * 64 + threadIdx.x;
    if (i < count) x[i] *= by;
}

#ifdef CLEAN
using Count = long;
#else
using Count = short;
#endif

struct __attribute__((packed)) Arguments {
    float* x;
    float by;
    char padding[4];
    Count count;
};

int main() {
    const int count = 128;
    float* x = upload(Tensor<float>(count, 2.0f));
    Arguments arguments{x, 3.0f, {}, Count(count)};
    size_t size = sizeof arguments;
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    hipFunction_t function = nullptr;
    (void)hipGetFuncBySymbol(&function, (const void*)scale);
    (void)hipModuleLaunchKernel(function, count / 64, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra);
    Tensor<float> host(count);
    copy_to_host(host.values, x, count * sizeof(float), "x");
    std::printf("x[0] = %g\n", host[0]);
    (void)hipFree(x);
}
