// Atomic read-modify-write on global memory and LDS.
#include "device.h"

// counts: [256] u32, cleared by the caller; x: [n] bytes. Grid: 4.
extern "C" __global__ void histogram(const u8 *x, u32 *counts, u32 n) {
    __shared__ u32 local[256];
    for (u32 i = thread_x(); i < 256; i += block_dim_x()) local[i] = 0;
    barrier();
    for (u32 i = block_x() * block_dim_x() + thread_x(); i < n; i += block_dim_x() * 4)
        __hip_atomic_fetch_add(&local[x[i]], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    barrier();
    for (u32 i = thread_x(); i < 256; i += block_dim_x())
        __hip_atomic_fetch_add(&counts[i], local[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

struct Cells {
    u32 add, min_u, max_u, bit_and, bit_or, bit_xor, swap, cas;
    i32 min_i, max_i;
    u64 add_64, max_64;
    float add_f32;
    double add_f64;
    u32 old_sum;
};

// x: one u32 per work-item. Any grid and block.
extern "C" __global__ void atomic_zoo(Cells *c, const u32 *x) {
    const u32 i = block_x() * block_dim_x() + thread_x(), v = x[i];
#define RMW(fn, field, value) fn(&c->field, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
    const u32 old = RMW(__hip_atomic_fetch_add, add, v);
    RMW(__hip_atomic_fetch_add, old_sum, old & 1);
    RMW(__hip_atomic_fetch_min, min_u, v);
    RMW(__hip_atomic_fetch_max, max_u, v);
    RMW(__hip_atomic_fetch_min, min_i, (i32)v);
    RMW(__hip_atomic_fetch_max, max_i, (i32)v);
    RMW(__hip_atomic_fetch_and, bit_and, v);
    RMW(__hip_atomic_fetch_or, bit_or, v);
    RMW(__hip_atomic_fetch_xor, bit_xor, v);
    RMW(__hip_atomic_exchange, swap, v);
    RMW(__hip_atomic_fetch_add, add_64, (u64)v << 20);
    RMW(__hip_atomic_fetch_max, max_64, (u64)v << 31);
    __builtin_amdgcn_global_atomic_fadd_f32((__attribute__((address_space(1))) float *)&c->add_f32, (float)(v & 7));
    __builtin_amdgcn_global_atomic_fadd_f64((__attribute__((address_space(1))) double *)&c->add_f64, (double)(v & 7));
    u32 expected = 0;
    __hip_atomic_compare_exchange_strong(&c->cas, &expected, i + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
#undef RMW
}

// The last block to arrive writes the sum of all: release and acquire at agent scope.
// x, part: [blocks] u32; arrived: one u32, cleared. Grid: blocks.
extern "C" __global__ void last_block_sum(const u32 *x, u32 *part, u32 *arrived, u32 *out, u32 blocks) {
    if (thread_x() != 0) return;
    part[block_x()] = x[block_x()];
    const u32 before = __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
    if (before != blocks - 1) return;
    u32 sum = 0;
    for (u32 i = 0; i < blocks; ++i) sum += part[i];
    *out = sum;
}
