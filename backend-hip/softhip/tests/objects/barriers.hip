// Barriers at different addresses. Block: 128 threads.
#include "device.h"

// Each wave has a barrier of its own: they meet by arriving. out[t] = t ^ 64, plus 1000 in the second wave.
extern "C" __global__ void meet_apart(u32 *out) {
    __shared__ u32 tile[128];
    const u32 t = thread_x();
    tile[t] = t;
    __builtin_amdgcn_s_waitcnt(0);
    if (__builtin_amdgcn_readfirstlane(t / 64) == 0) {
        asm volatile("s_barrier ; the first wave's" ::: "memory");
        out[t] = tile[t ^ 64];
    } else {
        asm volatile("s_barrier ; the second wave's" ::: "memory");
        out[t] = tile[t ^ 64] + 1000;
    }
}
