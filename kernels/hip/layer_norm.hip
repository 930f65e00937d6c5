// out[r][i] = (x[r][i] − mean(x[r])) / sqrt(var(x[r]) + eps) · weight[i] + bias[i]
//
// x, out: f32 [rows][n], rows apart by their strides (elements); weight, bias: f32 [n], bias may be null. out may be x.
// Grid: rows. Block: 256. layer_norm_1024 to layer_norm_8192 take rows of up to so many elements, and of more than the one
// before takes, and read each once: it stays in registers until both sums are known. layer_norm takes any row and reads it three times.
//
// Both sums have one lane per thread, every 256th element from its own on, and a tree over the threads. Their shape is the same in
// all variants and depends on n alone, so a row's bits depend on no other row.
#include "common.h"

#define THREADS 256

struct Row {
    const float *x, *weight, *bias;
    float *out;
    u32 n;
    float eps;

    __device__ float mean(float sum) const { return block_sum<THREADS>(sum) / (float)n; }

    // What each difference from the mean is multiplied by, from the squares that this thread has summed.
    __device__ float factor(float sum) const { return 1.0f / __builtin_sqrtf(mean(sum) + eps); }

    __device__ void store(u32 i, float difference, float factor) const {
        const float scaled = difference * factor * weight[i];
        out[i] = bias ? scaled + bias[i] : scaled;
    }
};

// n at most 256·PER, and more than half of that where PER is above 4: shorter rows have a kernel of their own. Whether element
// j·256 + thread of such a row exists need not be asked in its first half.
template <u32 PER> DEVICE bool exists(u32 j, u32 n) {
    return (PER > 4 && j < PER / 2) || j * THREADS + thread_x() < n;
}

template <u32 PER> DEVICE void read_once(const Row &row) {
    float own[PER], sum = 0.0f;
#pragma unroll
    for (u32 j = 0; j < PER; j++) {
        const u32 i = j * THREADS + thread_x();
        own[j] = exists<PER>(j, row.n) ? row.x[i] : 0.0f;
    }
#pragma unroll
    for (u32 j = 0; j < PER; j++) sum += own[j];
    const float mean = row.mean(sum);
    sum = 0.0f;
#pragma unroll
    for (u32 j = 0; j < PER; j++) {
        own[j] -= mean;
        if (exists<PER>(j, row.n)) sum += own[j] * own[j];
    }
    const float factor = row.factor(sum);
#pragma unroll
    for (u32 j = 0; j < PER; j++) {
        const u32 i = j * THREADS + thread_x();
        if (!exists<PER>(j, row.n)) return; // nor do those that follow
        row.store(i, own[j], factor);
    }
}

DEVICE void read_thrice(const Row &row) {
    float sum = 0.0f;
    for (u32 i = thread_x(); i < row.n; i += THREADS) sum += row.x[i];
    const float mean = row.mean(sum);
    sum = 0.0f;
    for (u32 i = thread_x(); i < row.n; i += THREADS) {
        const float difference = row.x[i] - mean;
        sum += difference * difference;
    }
    const float factor = row.factor(sum);
    for (u32 i = thread_x(); i < row.n; i += THREADS) row.store(i, row.x[i] - mean, factor);
}

#define LAYER_NORM(NAME, BODY)                                                                                         \
    KERNEL(THREADS)                                                                                                    \
    NAME(const float *x, const float *weight, const float *bias, float *out, u64 x_stride, u64 out_stride, u32 n,      \
         float eps) {                                                                                                  \
        BODY({x + block_x() * x_stride, weight, bias, out + block_x() * out_stride, n, eps});                          \
    }

LAYER_NORM(layer_norm_1024, read_once<4>)
LAYER_NORM(layer_norm_2048, read_once<8>)
LAYER_NORM(layer_norm_4096, read_once<16>)
LAYER_NORM(layer_norm_8192, read_once<32>)
LAYER_NORM(layer_norm, read_thrice)
