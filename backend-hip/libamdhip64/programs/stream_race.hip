// Two streams use one buffer, with an event between them only if CLEAN is defined.
#include "engine.h"

__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }
__global__ void add(const int* x, int* out) { out[threadIdx.x] = x[threadIdx.x] + 1; }

int main() {
    hipStream_t first, second;
    hipEvent_t filled;
    (void)hipStreamCreateWithFlags(&first, hipStreamNonBlocking);
    (void)hipStreamCreateWithFlags(&second, hipStreamNonBlocking);
    (void)hipEventCreate(&filled);
    int* x = upload(Tensor<int>(64));
    int* out = upload(Tensor<int>(64));
    fill<<<1, 64, 0, first>>>(x, 4);
    (void)hipEventRecord(filled, first);
#ifdef CLEAN
    (void)hipStreamWaitEvent(second, filled, 0);
#endif
    add<<<1, 64, 0, second>>>(x, out);
    (void)hipDeviceSynchronize();
    Tensor<int> host(64);
    copy_to_host(host.values, out, host.bytes, "out");
    std::printf("out[0] = %d\n", host[0]);
    (void)hipEventDestroy(filled);
    (void)hipStreamDestroy(first);
    (void)hipStreamDestroy(second);
    (void)hipFree(x);
    (void)hipFree(out);
}
