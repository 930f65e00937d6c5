// The host reads the destination of an asynchronous copy. It waits for the stream only if CLEAN is defined.
#include "engine.h"

__global__ void fill(int* out) { out[blockIdx.x * 64 + threadIdx.x] = 7; }

static int sum(const int* values, int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += values[i];
    return sum;
}

int main() {
    const int count = 1024;
    int *device = nullptr, *host = nullptr;
    hipStream_t stream;
    (void)hipStreamCreate(&stream);
    (void)hipMalloc((void**)&device, count * sizeof(int));
    (void)hipHostMalloc((void**)&host, count * sizeof(int), hipHostMallocDefault);
    fill<<<count / 64, 64, 0, stream>>>(device);
    (void)hipMemcpyAsync(host, device, count * sizeof(int), hipMemcpyDeviceToHost, stream);
#ifdef CLEAN
    (void)hipStreamSynchronize(stream);
#endif
    std::printf("right: %s\n", sum(host, count) == 7 * count ? "yes" : "no");
    (void)hipStreamSynchronize(stream);
    (void)hipStreamDestroy(stream);
    (void)hipFree(device);
    (void)hipHostFree(host);
}
