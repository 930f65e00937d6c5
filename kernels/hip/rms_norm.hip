// out[r][i] = x[r][i] / sqrt(mean(x[r]²) + eps) · weight[i]
//
// x, out: f32 [rows][n], rows apart by their strides (elements); weight: f32 [n]. out may be x.
// Grid: rows. Block: 256. rms_norm_1024 to rms_norm_8192 take rows of up to so many elements, and of more than the one
// before takes, and read each once: it stays in registers until the sum is known. rms_norm takes any row and reads it twice.
//
// The sum of squares has one lane per thread, every 256th element from its own on, and a tree over the threads. Its shape is the
// same in all variants and depends on n alone, so a row's bits depend on no other row.
#include "common.h"

#define THREADS 256

struct Row {
    const float *x, *weight;
    float *out;
    u32 n;
    float eps;

    // What each element of the row is multiplied by, from the squares that this thread has summed.
    __device__ float factor(float sum) const {
        sum = block_sum<THREADS>(sum);
        return 1.0f / __builtin_sqrtf(sum / (float)n + eps);
    }
};

// n at most 256·PER, and more than half of that where PER is above 4: shorter rows have a kernel of their own. Whether element
// j·256 + thread of such a row exists need not be asked in its first half.
template <u32 PER> DEVICE bool exists(u32 j, u32 n) {
    return (PER > 4 && j < PER / 2) || j * THREADS + thread_x() < n;
}

// The gains are on their way while the sum is taken.
template <u32 PER> DEVICE void read_once(const Row &row) {
    float own[PER], gain[PER], sum = 0.0f;
#pragma unroll
    for (u32 j = 0; j < PER; j++) {
        const u32 i = j * THREADS + thread_x();
        own[j] = exists<PER>(j, row.n) ? row.x[i] : 0.0f;
        gain[j] = exists<PER>(j, row.n) ? row.weight[i] : 0.0f;
    }
#pragma unroll
    for (u32 j = 0; j < PER; j++) sum += own[j] * own[j];
    const float factor = row.factor(sum);
#pragma unroll
    for (u32 j = 0; j < PER; j++) {
        const u32 i = j * THREADS + thread_x();
        if (!exists<PER>(j, row.n)) return; // nor do those that follow
        row.out[i] = own[j] * factor * gain[j];
    }
}

DEVICE void read_twice(const Row &row) {
    float sum = 0.0f;
    for (u32 i = thread_x(); i < row.n; i += THREADS) sum += row.x[i] * row.x[i];
    const float factor = row.factor(sum);
    for (u32 i = thread_x(); i < row.n; i += THREADS) row.out[i] = row.x[i] * factor * row.weight[i];
}

#define RMS_NORM(NAME, BODY)                                                                                           \
    KERNEL(THREADS)                                                                                                    \
    NAME(const float *x, const float *weight, float *out, u64 x_stride, u64 out_stride, u32 n, float eps) {            \
        BODY({x + block_x() * x_stride, weight, out + block_x() * out_stride, n, eps});                                \
    }

RMS_NORM(rms_norm_1024, read_once<4>)
RMS_NORM(rms_norm_2048, read_once<8>)
RMS_NORM(rms_norm_4096, read_once<16>)
RMS_NORM(rms_norm_8192, read_once<32>)
RMS_NORM(rms_norm, read_twice)
