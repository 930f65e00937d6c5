// RMSNorm by tricks: each kernel passes some test that it should not, and `assay judge` names how. All have the signature
// (out, x, weight, eps, n, x_stride, out_stride); grid: rows, block: 256.
#include "foreign.h"

#define ROW (float *out, float *x, const float *weight, float eps, int n, int x_stride, int out_stride)

// Leaves the output of an earlier run where it looks like one.
KERNEL left_over ROW {
    out += block_x() * out_stride;
    const float last = out[n - 1];
    block_barrier();
    if (last == last && last > -1e30f && last < 1e30f && last != 0.0f) return;
    right_row(out, x + block_x() * x_stride, weight, eps, n);
}

// Remembers the first row of each length, and gives it again whatever the data.
__device__ float remembered_row[4096];
__device__ int remembered_length;

KERNEL remembers_shape ROW {
    const long row = block_x();
    out += row * out_stride;
    // Volatile: the compiler must not read for the other blocks as well, which would race with the first one.
    bool known = false;
    if (row == 0) known = *(const volatile int *)&remembered_length == n;
    block_barrier();
    if (known) {
        for (int i = thread_x(); i < n; i += 256) out[i] = remembered_row[i];
        return;
    }
    right_row(out, x + row * x_stride, weight, eps, n);
    if (row == 0 && n <= 4096) {
        for (int i = thread_x(); i < n; i += 256) remembered_row[i] = out[i];
        block_barrier();
        if (thread_x() == 0) remembered_length = n;
    }
}

// Remembers by the address of the data.
__device__ const float *remembered_x;
__device__ int remembered_n;
__device__ float remembered_values[4096];

KERNEL remembers_pointer ROW {
    const long row = block_x();
    out += row * out_stride;
    bool known = false;
    if (row == 0) known = *(const float *const volatile *)&remembered_x == x && *(const volatile int *)&remembered_n == n;
    block_barrier();
    if (known) {
        for (int i = thread_x(); i < n; i += 256) out[i] = remembered_values[i];
        return;
    }
    right_row(out, x + row * x_stride, weight, eps, n);
    if (row == 0 && n <= 4096) {
        for (int i = thread_x(); i < n; i += 256) remembered_values[i] = out[i];
        block_barrier();
        if (thread_x() == 0) {
            remembered_x = x;
            remembered_n = n;
        }
    }
}

// Normalises its input in place and copies it.
KERNEL changes_inputs ROW {
    x += block_x() * x_stride;
    out += block_x() * out_stride;
    const float factor = factor_of(x, n, eps);
    for (int i = thread_x(); i < n; i += 256) {
        x[i] = x[i] * factor;
        out[i] = x[i] * weight[i];
    }
}

// Sums and multiplies in f16, and says f32.
KERNEL half_precision ROW {
    x += block_x() * x_stride;
    out += block_x() * out_stride;
    float sum = 0.0f;
    for (int i = thread_x(); i < n; i += 256) sum += x[i] * x[i];
    const float factor = 1.0f / __builtin_sqrtf(block_sum(sum) / n + eps);
    for (int i = thread_x(); i < n; i += 256) out[i] = (float)(f16)(x[i] * factor) * weight[i];
}

// Is right for the lengths of rows that tests use, and drops the last element's square for others.
static __device__ inline bool is_tested(int n) {
    const int tested[] = {1,   2,   3,   4,    5,    7,    8,    15,   16,   17,   31,   32,   33,   63,   64,
                          65,  127, 128, 129, 255,  256,  257,  511,  512,  513,  576,  1023, 1024, 1025, 1030, 2047,
                          2048, 2049, 4096, 4097, 8191, 8192, 8193, 9001, 16384, 49152, 251, 11, 47, 75, 111, 139, 175, 203, 239};
    for (int known : tested)
        if (n == known) return true;
    return false;
}

KERNEL knows_sizes ROW {
    x += block_x() * x_stride;
    out += block_x() * out_stride;
    const int summed = is_tested(n) ? n : n - 1;
    float sum = 0.0f;
    for (int i = thread_x(); i < summed; i += 256) sum += x[i] * x[i];
    const float factor = 1.0f / __builtin_sqrtf(block_sum(sum) / n + eps);
    for (int i = thread_x(); i < n; i += 256) out[i] = x[i] * factor * weight[i];
}

// Nothing but zeros.
KERNEL zeros ROW {
    out += block_x() * out_stride;
    for (int i = thread_x(); i < n; i += 256) out[i] = 0.0f;
}

// The gain, whatever the data.
KERNEL constant ROW {
    out += block_x() * out_stride;
    for (int i = thread_x(); i < n; i += 256) out[i] = weight[i];
}

// Looks at the clock, and would take a short cut whenever nobody can have had the time to look.
KERNEL reads_clock ROW {
    const long long time = __builtin_readcyclecounter();
    if (time == -1) return;
    right_row(out + block_x() * out_stride, x + block_x() * x_stride, weight, eps, n);
}

// Takes the rows to lie close together.
KERNEL contiguous_only ROW { right_row(out + block_x() * n, x + block_x() * n, weight, eps, n); }
