// saxpy without its guard: the last block writes past the end of y. The launch is not checked, so the copy is the first
// call that tells.
#include "check.h"

__global__ void saxpy(float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i & 511];
}

int main() {
    const int n = 1000;
    static float x[n];
    float *dx, *dy;
    CHECK(hipMalloc((void**)&dx, sizeof x));
    CHECK(hipMalloc((void**)&dy, sizeof x));
    CHECK(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(2.0f, dx, dy);
    hipError_t error = hipMemcpy(x, dy, sizeof x, hipMemcpyDeviceToHost);
    std::printf("copy: %s\n", hipGetErrorName(error));
    std::printf("last error: %s\n", hipGetErrorName(hipGetLastError()));
    std::printf("last error again: %s\n", hipGetErrorName(hipGetLastError()));
}
