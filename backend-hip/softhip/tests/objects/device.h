// The part of HIP that the test kernels use, on compiler builtins alone, so that
// clang and lld build them with no ROCm installed.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define WAVE __AMDGCN_WAVEFRONT_SIZE__

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef _Float16 f16;

typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x4 __attribute__((ext_vector_type(4)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef i32 i32x4 __attribute__((ext_vector_type(4)));
typedef i32 i32x16 __attribute__((ext_vector_type(16)));

static __device__ inline u32 thread_x() { return __builtin_amdgcn_workitem_id_x(); }
static __device__ inline u32 thread_y() { return __builtin_amdgcn_workitem_id_y(); }
static __device__ inline u32 block_x() { return __builtin_amdgcn_workgroup_id_x(); }
static __device__ inline u32 block_y() { return __builtin_amdgcn_workgroup_id_y(); }
// Code object v5 keeps the block size as three 16-bit words at byte 12 of the implicit arguments.
static __device__ inline u32 block_dim_x() {
    typedef const __attribute__((address_space(4))) u16 *words;
    return ((words)__builtin_amdgcn_implicitarg_ptr())[6];
}
static __device__ inline u32 lane_id() {
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
static __device__ inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static __device__ inline float bits_f32(u32 x) { return __builtin_bit_cast(float, x); }
static __device__ inline u32 f32_bits(float x) { return __builtin_bit_cast(u32, x); }
static __device__ inline float shuffle_xor(float x, u32 mask) {
    return bits_f32(__builtin_amdgcn_ds_bpermute((lane_id() ^ mask) << 2, f32_bits(x)));
}
static __device__ inline float wave_sum(float x) {
    for (u32 m = WAVE / 2; m; m >>= 1) x += shuffle_xor(x, m);
    return x;
}
static __device__ inline float wave_max(float x) {
    for (u32 m = WAVE / 2; m; m >>= 1) x = __builtin_fmaxf(x, shuffle_xor(x, m));
    return x;
}

// Combines one value per wave across the block (at most 16 waves) through LDS.
template <typename Combine>
static __device__ inline float block_combine(float x, Combine wave) {
    __shared__ float part[16];
    const u32 waves = block_dim_x() / WAVE, w = thread_x() / WAVE;
    x = wave(x);
    if (waves == 1) return x;
    if (lane_id() == 0) part[w] = x;
    barrier();
    x = part[lane_id() % waves];
    for (u32 m = 1; m < waves; m <<= 1) {
        const float y = shuffle_xor(x, m);
        x = wave.pair(x, y);
    }
    barrier();
    return x;
}
struct Sum {
    __device__ float operator()(float x) const { return wave_sum(x); }
    __device__ float pair(float a, float b) const { return a + b; }
};
struct Max {
    __device__ float operator()(float x) const { return wave_max(x); }
    __device__ float pair(float a, float b) const { return __builtin_fmaxf(a, b); }
};
