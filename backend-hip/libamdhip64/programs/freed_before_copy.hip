// A buffer is freed before its copy to the host, unless CLEAN is defined.
#include "engine.h"

__global__ void fill(float* out) { out[blockIdx.x * 64 + threadIdx.x] = 1.0f; }

int main() {
    float* logits = nullptr;
    (void)hipMalloc((void**)&logits, 1024 * sizeof(float));
    fill<<<16, 64>>>(logits);
    Tensor<float> host(1024);
#ifndef CLEAN
    (void)hipFree(logits);
#endif
    copy_to_host(host.values, logits, host.bytes, "logits");
    std::printf("logits[0] = %g\n", host[0]);
    (void)hipFree(logits);
}
