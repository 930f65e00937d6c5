// Two tensors go to the device through one pinned buffer. The host waits for the first copy before it fills the buffer again only
// if CLEAN is defined.
#include "engine.h"

constexpr int COUNT = 1024;

static void stage(int* staging, int value) {
    for (int i = 0; i < COUNT; ++i) staging[i] = value;
}

int main() {
    int *staging = nullptr, *first = nullptr, *second = nullptr;
    hipStream_t stream;
    (void)hipStreamCreate(&stream);
    (void)hipHostMalloc((void**)&staging, COUNT * sizeof(int), hipHostMallocDefault);
    (void)hipMalloc((void**)&first, COUNT * sizeof(int));
    (void)hipMalloc((void**)&second, COUNT * sizeof(int));
    stage(staging, 1);
    (void)hipMemcpyAsync(first, staging, COUNT * sizeof(int), hipMemcpyHostToDevice, stream);
#ifdef CLEAN
    (void)hipStreamSynchronize(stream);
#endif
    stage(staging, 2);
    (void)hipMemcpyAsync(second, staging, COUNT * sizeof(int), hipMemcpyHostToDevice, stream);
    (void)hipStreamSynchronize(stream);
    Tensor<int> host(COUNT);
    copy_to_host(host.values, first, COUNT * sizeof(int), "first");
    std::printf("right: %s\n", host[0] == 1 ? "yes" : "no");
    (void)hipStreamDestroy(stream);
    (void)hipFree(first);
    (void)hipFree(second);
    (void)hipHostFree(staging);
}
