// Kernels print in the order of the streams, and between what the host prints. The messages of an assertion go to the standard error
// stream; it fails unless CLEAN is defined. build.sh makes it with both values of -mprintf-kind.
#include <cassert>

#include "check.h"

__global__ void greet(const char* name, int from) {
    printf("%d: %s has %5.2f, %c%s\n", from + (int)threadIdx.x, name, 0.5 * threadIdx.x, 'e', "nd");
}

__global__ void count(const int* x, int n) {
    int i = threadIdx.x;
    assert(i < n);
    if (i == 0) printf("x[0] is %d\n", x[i]);
}

int main() {
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    char* name;
    CHECK(hipHostMalloc(&name, 4));
    name[0] = 'a', name[1] = 'b', name[2] = '\0';
    int* x;
    CHECK(hipMalloc(&x, 64 * sizeof(int)));
    CHECK(hipMemsetD32(x, 7, 64));
    std::printf("before\n");
    greet<<<1, 2, 0, stream>>>(name, 0);
    greet<<<1, 2, 0, stream>>>(name, 2);
    CHECK(hipStreamSynchronize(stream));
    std::printf("between\n");
#ifdef CLEAN
    count<<<1, 64>>>(x, 64);
#else
    count<<<1, 64>>>(x, 60);
#endif
    hipError_t error = hipDeviceSynchronize();
    std::printf("after: %s\n", hipGetErrorName(error));
    (void)hipStreamDestroy(stream);
    (void)hipHostFree(name);
    (void)hipFree(x);
}
