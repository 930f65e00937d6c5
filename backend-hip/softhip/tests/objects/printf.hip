// Messages that a launch leaves in a buffer, as `-mprintf-kind=buffered` compiles `printf`. Here is the function that takes
// room in the buffer; ROCm's device libraries have another.
#include "device.h"

typedef __attribute__((address_space(1))) u8 *global;
extern "C" __device__ int printf(const char *, ...);

// The buffer begins with the bytes that are taken, and the bytes that there are.
extern "C" __device__ __attribute__((used)) global __printf_alloc(u32 bytes) {
    const global buffer = *(global const __attribute__((address_space(4))) *)(
        (const __attribute__((address_space(4))) u8 *)__builtin_amdgcn_implicitarg_ptr() + 72);
    __attribute__((address_space(1))) u32 *const taken = (__attribute__((address_space(1))) u32 *)buffer;
    const u32 size = taken[1];
    u32 at = __hip_atomic_load(taken, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    do {
        if (at + bytes + 8 > size) return 0;
    } while (!__hip_atomic_compare_exchange_strong(taken, &at, at + bytes, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT));
    return buffer + 8 + at;
}

// A constant format with arguments of every size, and one that only the launch knows.
extern "C" __global__ void messages(const char *text, const char *format, u32 n) {
    if (thread_x() >= n) return;
    printf("%d: %5.2f of %s, %s, %llx, %%\n", thread_x(), thread_x() / 4.0f, "twelve bytes", text, 0x123456789abcull);
    if (thread_x() == 0) printf(format, 7, text);
}

// More than the buffer has room for: the rest is left out.
extern "C" __global__ void flood(u32 n) {
    for (u32 i = 0; i < n; ++i) printf("%u\n", i);
}

// What is no message.
extern "C" __global__ void damage(u32 word) {
    if (thread_x() == 0) *(__attribute__((address_space(1))) u32 *)__printf_alloc(16) = word;
    printf("never\n");
}
