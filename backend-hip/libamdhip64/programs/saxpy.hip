// y = a x + y, by a launch with <<<>>>. Prints "saxpy: right" when every element is.
#include "check.h"

__global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
    const int n = 1000;
    static float x[n], y[n];
    for (int i = 0; i < n; ++i) {
        x[i] = float(i);
        y[i] = 1.0f;
    }
    float *dx, *dy;
    CHECK(hipMalloc((void**)&dx, sizeof x));
    CHECK(hipMalloc((void**)&dy, sizeof y));
    CHECK(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dy, y, sizeof y, hipMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(2.0f, dx, dy, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(y, dy, sizeof y, hipMemcpyDeviceToHost));
    CHECK(hipFree(dx));
    CHECK(hipFree(dy));
    for (int i = 0; i < n; ++i) {
        if (y[i] != 2.0f * float(i) + 1.0f) {
            std::printf("saxpy: y[%d] is %g\n", i, y[i]);
            return 1;
        }
    }
    std::printf("saxpy: right\n");
}
