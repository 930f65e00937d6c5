// RMSNorm in f16 and bf16: all tensors in one type, sums in f32, one rounding on the store. And ways to get that wrong.
#include "foreign.h"

// A bf16 is the upper half of an f32.
struct bf16 {
    unsigned short bits;
};

static __device__ inline float widen(f16 value) { return (float)value; }
static __device__ inline float widen(bf16 value) { return __builtin_bit_cast(float, (u32)value.bits << 16); }

// To nearest, ties to even. A NaN keeps its upper bits and is made quiet.
static __device__ inline void store(f16 *to, float value) { *to = (f16)value; }
static __device__ inline void store(bf16 *to, float value) {
    const u32 bits = __builtin_bit_cast(u32, value);
    to->bits = value != value ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

template <typename T> static __device__ inline float typed_factor(const T *x, int n, float eps) {
    float sum = 0.0f;
    for (int i = thread_x(); i < n; i += 256) sum += widen(x[i]) * widen(x[i]);
    return 1.0f / __builtin_sqrtf(block_sum(sum) / n + eps);
}

#define ARGUMENTS(T) T *out, const T *x, const T *weight, float eps, int n, int x_stride, int out_stride
#define ROW x += block_x() * x_stride, out += block_x() * out_stride

template <typename T> static __device__ inline void right(ARGUMENTS(T)) {
    ROW;
    const float factor = typed_factor(x, n, eps);
    for (int i = thread_x(); i < n; i += 256) store(&out[i], widen(x[i]) * factor * widen(weight[i]));
}

KERNEL typed_rms_norm_f16(ARGUMENTS(f16)) { right(out, x, weight, eps, n, x_stride, out_stride); }
KERNEL typed_rms_norm_bf16(ARGUMENTS(bf16)) { right(out, x, weight, eps, n, x_stride, out_stride); }

// Bug: squares and their sum in f16.
KERNEL half_sums_f16(ARGUMENTS(f16)) {
    ROW;
    f16 sum = 0;
    for (int i = thread_x(); i < n; i += 256) sum += x[i] * x[i];
    const float factor = 1.0f / __builtin_sqrtf((float)block_sum(sum) / n + eps);
    for (int i = thread_x(); i < n; i += 256) store(&out[i], widen(x[i]) * factor * widen(weight[i]));
}

// Bug: rounded before the gain, and once more after it.
KERNEL rounds_twice_f16(ARGUMENTS(f16)) {
    ROW;
    const float factor = typed_factor(x, n, eps);
    for (int i = thread_x(); i < n; i += 256) store(&out[i], widen((f16)(widen(x[i]) * factor)) * widen(weight[i]));
}

// Bug: the bits that do not fit are cut off.
static __device__ inline void truncate(bf16 *to, float value) { to->bits = __builtin_bit_cast(u32, value) >> 16; }
static __device__ inline void truncate(f16 *to, float value) {
    const f16 nearest = (f16)value;
    const bool away = __builtin_fabsf((float)nearest) > __builtin_fabsf(value);
    *to = away ? __builtin_bit_cast(f16, (unsigned short)(__builtin_bit_cast(unsigned short, nearest) - 1)) : nearest;
}

template <typename T> static __device__ inline void truncating(ARGUMENTS(T)) {
    ROW;
    const float factor = typed_factor(x, n, eps);
    for (int i = thread_x(); i < n; i += 256) truncate(&out[i], widen(x[i]) * factor * widen(weight[i]));
}

KERNEL truncates_f16(ARGUMENTS(f16)) { truncating(out, x, weight, eps, n, x_stride, out_stride); }
KERNEL truncates_bf16(ARGUMENTS(bf16)) { truncating(out, x, weight, eps, n, x_stride, out_stride); }
