// Kernels that are right or wrong by how they are launched.
#include "device.h"

typedef u32 u32x3 __attribute__((ext_vector_type(3)));

// out[t] = x[reach - 1 - t] through dynamic LDS: right if `filled` and `reach` are the block's size, the launch gives
// 4 bytes of LDS per thread, and `synced` is not 0. `cleared` only initialises what is written anyway.
extern "C" __global__ void lds_reverse(const u32 *x, u32 *out, u32 filled, u32 reach, u32 synced, u32 cleared) {
    extern __shared__ u32 tile[];
    const u32 t = thread_x();
    if (cleared) {
        tile[t] = 0;
        barrier();
    }
    if (t < filled) tile[t] = x[t];
    if (synced) barrier();
    out[t] = tile[reach - 1 - t];
}

// Waves below `waves` meet at a barrier: right if those are all.
extern "C" __global__ void meet(u32 *out, u32 waves) {
    if (thread_x() / WAVE < waves) barrier();
    out[thread_x()] = waves;
}

// Waits until the word is at least `least`: right if it is already.
extern "C" __global__ void wait_for(const u32 *word, u32 *out, u32 least) {
    while (*(const volatile u32 *)word < least) {}
    out[thread_x()] = *word;
}

// Three words, which the compiler loads as four.
extern "C" __global__ void sum_of_three(const u32x3 *x, u32 *out) { out[thread_x()] = x->x + x->y + x->z; }

// One byte each.
extern "C" __global__ void copy_u8(const u8 *x, u8 *out) { out[thread_x()] = x[thread_x()]; }

// Block b adds slot reads[b] of `slots` to what it computes in `rounds` turns, and puts the sum into slot writes[b]; a
// slot has a word per thread. Right if no block touches a slot that another one writes.
extern "C" __global__ void exchange(const u32 *reads, const u32 *writes, u32 *slots, u32 rounds) {
    u32 value = slots[reads[block_x()] * block_dim_x() + thread_x()];
    for (u32 i = 0; i < rounds; i++) value = value * 1664525u + (1013904223u ^ i);
    slots[writes[block_x()] * block_dim_x() + thread_x()] = value;
}
