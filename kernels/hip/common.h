// The part of HIP that the kernels use, on compiler builtins alone: clang and lld build them with no ROCm installed, and
// ROCm's compilers and hiprtc take the same source. Wave64 and wave32 clean.
#pragma once

#undef __global__
#undef __device__
#undef __shared__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

#define DEVICE static __device__ inline __attribute__((always_inline))
// A kernel whose block has exactly THREADS threads in x.
#define KERNEL(THREADS)                                                                                                \
    extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS))) void

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef _Float16 f16;

typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

// Lanes of a wave. Compilers before 16 and after 19 do not tell; then the family does.
#if defined(__AMDGCN_WAVEFRONT_SIZE__)
#define WAVE __AMDGCN_WAVEFRONT_SIZE__
#elif defined(__GFX9__)
#define WAVE 64
#else
#define WAVE 32
#endif

DEVICE u32 thread_x() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE u32 block_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE u32 block_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE u32 block_z() { return __builtin_amdgcn_workgroup_id_z(); }
DEVICE u32 wave_id() { return thread_x() / WAVE; }
DEVICE u32 lane_id() {
#if WAVE == 64
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}

// All threads of the block; LDS written before is seen after.
DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DEVICE float bits_f32(u32 x) { return __builtin_bit_cast(float, x); }
DEVICE u32 f32_bits(float x) { return __builtin_bit_cast(u32, x); }

// The value of lane (own lane ^ mask).
DEVICE u32 lane_xor(u32 x, u32 mask) { return __builtin_amdgcn_ds_bpermute((lane_id() ^ mask) << 2, x); }
DEVICE float lane_xor(float x, u32 mask) { return bits_f32(lane_xor(f32_bits(x), mask)); }

// Sum over the lanes of a wave, in every lane, by a tree of fixed shape.
DEVICE float wave_sum(float x) {
    for (u32 mask = WAVE / 2; mask; mask >>= 1) x += lane_xor(x, mask);
    return x;
}

DEVICE float wave_max(float x) {
    for (u32 mask = WAVE / 2; mask; mask >>= 1) x = __builtin_fmaxf(x, lane_xor(x, mask));
    return x;
}

// Sum over the THREADS threads of a block, in every thread, by a tree of fixed shape. Not for divergent code.
template <u32 THREADS> DEVICE float block_sum(float x) {
    constexpr u32 WAVES = THREADS / WAVE;
    x = wave_sum(x);
    if (WAVES == 1) return x;
    __shared__ float part[WAVES];
    if (lane_id() == 0) part[wave_id()] = x;
    barrier();
    x = part[lane_id() % WAVES];
    for (u32 mask = WAVES / 2; mask; mask >>= 1) x += lane_xor(x, mask);
    barrier();
    return x;
}

// Maximum over the THREADS threads of a block, in every thread. A NaN is passed over unless all are NaN.
template <u32 THREADS> DEVICE float block_max(float x) {
    constexpr u32 WAVES = THREADS / WAVE;
    x = wave_max(x);
    if (WAVES == 1) return x;
    __shared__ float part[WAVES];
    if (lane_id() == 0) part[wave_id()] = x;
    barrier();
    x = part[lane_id() % WAVES];
    for (u32 mask = WAVES / 2; mask; mask >>= 1) x = __builtin_fmaxf(x, lane_xor(x, mask));
    barrier();
    return x;
}

// The row of this block, where the grid has parts of a row in x and rows in y, or in y and z if there are more than it can have in y:
// the last blocks may be past the last row.
#define GRID_ROWS 4096
DEVICE u32 block_row() { return block_z() * GRID_ROWS + block_y(); }
