// Host and device use memory of the program's own. A kernel is given it again after hipHostUnregister, unless CLEAN is defined; and the host reads
// the destination of a copy before it has waited.
#include "check.h"

__global__ void twice(int* values) { values[blockIdx.x * 64 + threadIdx.x] *= 2; }
__global__ void through(int** table, int* out) { out[threadIdx.x] = table[0][threadIdx.x]; }

static int sum(const int* values, int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += values[i];
    return sum;
}

int main() {
    const int count = 4096;
    const size_t bytes = count * sizeof(int);
    int* host = nullptr;
    if (posix_memalign((void**)&host, 4096, bytes) != 0) return 1;
    for (int i = 0; i < count; ++i) host[i] = 1;
    // Not whole pages, and not at the beginning of one.
    char* odd = (char*)std::malloc(100);
    CHECK(hipHostRegister(odd + 3, 61, hipHostRegisterDefault));
    CHECK(hipHostUnregister(odd + 3));
    std::free(odd);

    CHECK(hipHostRegister(host, bytes, hipHostRegisterMapped));
    if (hipHostRegister(host + 8, 64, 0) != hipErrorHostMemoryAlreadyRegistered) return 1;
    int *device = nullptr, *seen = nullptr;
    CHECK(hipHostGetDevicePointer((void**)&seen, host, 0));
    twice<<<count / 64, 64>>>(seen);
    CHECK(hipDeviceSynchronize());
    if (sum(host, count) != 2 * count) return 1;

    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipMalloc((void**)&device, bytes));
    CHECK(hipMemcpy(device, host, bytes, hipMemcpyDefault));
    twice<<<count / 64, 64>>>(device);
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpyAsync(host, device, bytes, hipMemcpyDeviceToHost, stream));
#ifdef CLEAN
    CHECK(hipStreamSynchronize(stream));
#endif
    std::printf("sum: %s\n", sum(host, count) == 4 * count ? "right" : "wrong");
    CHECK(hipStreamSynchronize(stream));

    int** table = nullptr;
    CHECK(hipMalloc((void**)&table, sizeof(int*)));
    CHECK(hipMemcpy(table, &host, sizeof(int*), hipMemcpyHostToDevice));
#ifndef CLEAN
    CHECK(hipHostUnregister(host));
#endif
    through<<<1, 64>>>(table, device);
    CHECK(hipDeviceSynchronize());
#ifdef CLEAN
    CHECK(hipHostUnregister(host));
#endif
    if (hipHostUnregister(host) != hipErrorHostMemoryNotRegistered) return 1;
    // It is the host's again, and a copy takes it for such.
    CHECK(hipMemcpy(device, host, bytes, hipMemcpyDefault));
    CHECK(hipFree(table));
    CHECK(hipFree(device));
    CHECK(hipStreamDestroy(stream));
    std::free(host);
}
