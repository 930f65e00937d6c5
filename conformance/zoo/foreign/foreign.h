// What the kernels of this folder share. No ROCm header: clang and lld alone build them.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))
#define KERNEL extern "C" __global__ __launch_bounds__(256) void

typedef unsigned int u32;
typedef _Float16 f16;

static __device__ inline int thread_x() { return __builtin_amdgcn_workitem_id_x(); }
static __device__ inline long block_x() { return __builtin_amdgcn_workgroup_id_x(); }
static __device__ inline void block_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// The sum of one value per thread of a block of 256.
template <typename T> static __device__ inline T block_sum(T value) {
    __shared__ T partial[256];
    const int thread = thread_x();
    partial[thread] = value;
    block_barrier();
    for (int half = 128; half > 0; half /= 2) {
        if (thread < half) partial[thread] += partial[thread + half];
        block_barrier();
    }
    const T sum = partial[0];
    block_barrier();
    return sum;
}

// What each element of a row is multiplied by.
static __device__ inline float factor_of(const float *x, int n, float eps) {
    float sum = 0.0f;
    for (int i = thread_x(); i < n; i += 256) sum += x[i] * x[i];
    return 1.0f / __builtin_sqrtf(block_sum(sum) / n + eps);
}

// A row as it should be.
static __device__ inline void right_row(float *out, const float *x, const float *weight, float eps, int n) {
    const float factor = factor_of(x, n, eps);
    for (int i = thread_x(); i < n; i += 256) out[i] = x[i] * factor * weight[i];
}
