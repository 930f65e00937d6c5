// Two threads write to the same buffer, each on its own default stream. The first waits for its work only if CLEAN is defined.
#include "check.h"

#include <pthread.h>

// What the calls are in a program that is compiled with a default stream for each thread.
extern "C" hipError_t hipMemcpyAsync_spt(void*, const void*, size_t, hipMemcpyKind, hipStream_t);
extern "C" hipError_t hipMemcpy_spt(void*, const void*, size_t, hipMemcpyKind);
extern "C" hipError_t hipStreamSynchronize_spt(hipStream_t);

__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }

static int* buffer = nullptr;

static void* first(void*) {
    CHECK(hipMemcpyAsync_spt(buffer, buffer + 64, 64 * sizeof(int), hipMemcpyDeviceToDevice, nullptr));
#ifdef CLEAN
    CHECK(hipStreamSynchronize_spt(nullptr));
#endif
    return nullptr;
}

static void* second(void*) {
    int host[64];
    CHECK(hipMemcpyAsync_spt(buffer, buffer + 64, 64 * sizeof(int), hipMemcpyDeviceToDevice, nullptr));
    CHECK(hipMemcpy_spt(host, buffer, sizeof host, hipMemcpyDeviceToHost));
    std::printf("threads: %s\n", host[63] == 7 ? "right" : "wrong");
    return nullptr;
}

int main() {
    CHECK(hipMalloc((void**)&buffer, 128 * sizeof(int)));
    fill<<<1, 64>>>(buffer + 64, 7);
    CHECK(hipDeviceSynchronize());
    void* (*const bodies[])(void*) = {first, second};
    for (auto body : bodies) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, body, nullptr) != 0) return 1;
        pthread_join(thread, nullptr);
    }
    (void)hipFree(buffer);
}
