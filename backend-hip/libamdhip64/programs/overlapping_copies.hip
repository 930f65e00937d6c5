// Two tensors are gathered into one buffer by copies on two streams. The second begins 64 bytes before the end of the first, unless CLEAN is
// defined.
#include "engine.h"

constexpr int COUNT = 1024;

int main() {
#ifdef CLEAN
    const int second = COUNT;
#else
    const int second = COUNT - 16;
#endif
    hipStream_t streams[2];
    int *parts[2], *whole = nullptr;
    (void)hipMalloc((void**)&whole, 2 * COUNT * sizeof(int));
    (void)hipMemset(whole, 0, 2 * COUNT * sizeof(int));
    for (int i = 0; i < 2; ++i) {
        (void)hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking);
        parts[i] = upload(Tensor<int>(COUNT, i + 1));
    }
    (void)hipDeviceSynchronize();
    (void)hipMemcpyAsync(whole, parts[0], COUNT * sizeof(int), hipMemcpyDeviceToDevice, streams[0]);
    (void)hipMemcpyAsync(whole + second, parts[1], COUNT * sizeof(int), hipMemcpyDeviceToDevice, streams[1]);
    (void)hipDeviceSynchronize();
    Tensor<int> host(2 * COUNT);
    copy_to_host(host.values, whole, host.bytes, "whole");
    std::printf("whole[%d] = %d\n", COUNT - 1, host[COUNT - 1]);
    for (int i = 0; i < 2; ++i) {
        (void)hipStreamDestroy(streams[i]);
        (void)hipFree(parts[i]);
    }
    (void)hipFree(whole);
}
