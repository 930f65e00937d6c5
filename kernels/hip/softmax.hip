// out[r][i] = exp(t[r][i] − m) / Σⱼ exp(t[r][j] − m), t = scale·x, m = maxⱼ t[r][j]
//
// x, out: f32 [rows][n], rows apart by their strides (elements). out may be x.
// Grid: rows. Block: 256. softmax_1024 to softmax_8192 take rows of up to so many elements, and of more than the one before
// takes, and read each once: it stays in registers.
// softmax takes any row and reads it three times.
//
// The sum has one lane per thread, every 256th element from its own on, and a tree over the threads: its shape is the same in all
// variants and depends on n alone. The maximum passes NaN over; the sum does not, so that a NaN or a maximum of ±∞ makes the row NaN.
#include "common.h"

#define THREADS 256

struct Row {
    const float *x;
    float *out;
    u32 n;
    float scale;
};

// n at most 256·PER, and more than half of that where PER is above 4: shorter rows have a kernel of their own. Whether element
// j·256 + thread of such a row exists need not be asked in its first half.
template <u32 PER> DEVICE bool exists(u32 j, u32 n) {
    return (PER > 4 && j < PER / 2) || j * THREADS + thread_x() < n;
}

// An element past the row's end is −∞, whose exponential adds nothing.
template <u32 PER> DEVICE void read_once(const Row &row) {
    float own[PER], most = -__builtin_inff(), sum = 0.0f;
#pragma unroll
    for (u32 j = 0; j < PER; j++) {
        const u32 i = j * THREADS + thread_x();
        own[j] = exists<PER>(j, row.n) ? row.scale * row.x[i] : -__builtin_inff();
    }
#pragma unroll
    for (u32 j = 0; j < PER; j++) most = __builtin_fmaxf(most, own[j]);
    most = block_max<THREADS>(most);
#pragma unroll
    for (u32 j = 0; j < PER; j++) sum += own[j] = __builtin_expf(own[j] - most);
    sum = block_sum<THREADS>(sum);
#pragma unroll
    for (u32 j = 0; j < PER; j++) {
        const u32 i = j * THREADS + thread_x();
        if (!exists<PER>(j, row.n)) return; // nor do those that follow
        row.out[i] = own[j] / sum;
    }
}

DEVICE void read_thrice(const Row &row) {
    float largest = -__builtin_inff();
    for (u32 i = thread_x(); i < row.n; i += THREADS) largest = __builtin_fmaxf(largest, row.scale * row.x[i]);
    largest = block_max<THREADS>(largest);
    float sum = 0.0f;
    for (u32 i = thread_x(); i < row.n; i += THREADS) sum += __builtin_expf(row.scale * row.x[i] - largest);
    sum = block_sum<THREADS>(sum);
    for (u32 i = thread_x(); i < row.n; i += THREADS)
        row.out[i] = __builtin_expf(row.scale * row.x[i] - largest) / sum;
}

#define SOFTMAX(NAME, BODY)                                                                                            \
    KERNEL(THREADS) NAME(const float *x, float *out, u64 x_stride, u64 out_stride, u32 n, float scale) {               \
        BODY({x + block_x() * x_stride, out + block_x() * out_stride, n, scale});                                      \
    }

SOFTMAX(softmax_1024, read_once<4>)
SOFTMAX(softmax_2048, read_once<8>)
SOFTMAX(softmax_4096, read_once<16>)
SOFTMAX(softmax_8192, read_once<32>)
SOFTMAX(softmax, read_thrice)
