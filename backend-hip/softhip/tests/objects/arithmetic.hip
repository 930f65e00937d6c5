// One element per thread, many operations each: x, y -> out[op][n]. Block: 64, grid: n / 64.
#include "device.h"

#define INDEX const u32 i = block_x() * WAVE + thread_x()
#define OUT(op, value) out[(op) * (u64)n + i] = (value)

extern "C" __global__ void zoo_u32(const u32 *x, const u32 *y, u32 *out, u32 n) {
    INDEX;
    const u32 a = x[i], b = y[i];
    OUT(0, a + b * 3);
    OUT(1, a / (b | 1));
    OUT(2, a % (b | 1));
    OUT(3, (u32)((i32)a / ((i32)b | 1)));
    OUT(4, (u32)((u64)a * b >> 32));
    OUT(5, (u32)((i64)(i32)a * (i32)b >> 32));
    OUT(6, a << (b & 31) | a >> (b >> 5 & 31));
    OUT(7, (u32)((i32)a >> (b & 31)));
    OUT(8, __builtin_popcount(a) + __builtin_clz(a | 1) + __builtin_ctz(b | 0x80000000u));
    OUT(9, __builtin_bitreverse32(a) ^ __builtin_bswap32(b));
    OUT(10, a > b ? a - b : b - a);
    OUT(11, (u32)((i32)a < (i32)b ? (i32)a : (i32)b));
    OUT(12, (a & b) | (~a & 0x55555555u));
    OUT(13, a >> 7 & 0x1f);
    OUT(14, __builtin_amdgcn_perm(a, b, 0x07020501));
    OUT(15, __builtin_amdgcn_alignbit(a, b, 11));
    OUT(16, (a & 0xffffff) * (b & 0xffffff) + 17);
    OUT(17, __builtin_amdgcn_udot4(a, b, 5, false));
    OUT(18, __builtin_amdgcn_sad_u8(a, b, 9));
    OUT(19, __builtin_amdgcn_ubfe(a, b & 31, 9) + __builtin_amdgcn_sbfe(a, b & 31, 9));
}

extern "C" __global__ void zoo_u64(const u64 *x, const u64 *y, u64 *out, u32 n) {
    INDEX;
    const u64 a = x[i], b = y[i];
    OUT(0, a + b);
    OUT(1, a - b);
    OUT(2, a * b);
    OUT(3, a << (b & 63));
    OUT(4, a >> (b & 63));
    OUT(5, (u64)((i64)a >> (b & 63)));
    OUT(6, a < b ? a : b);
    OUT(7, (u64)((i64)a < (i64)b));
    OUT(8, a / (b | 1));
    OUT(9, __builtin_popcountll(a) + __builtin_clzll(a | 1));
}

extern "C" __global__ void zoo_f32(const float *x, const float *y, float *out, u32 n) {
    INDEX;
    const float a = x[i], b = y[i];
    OUT(0, a + b);
    OUT(1, a - b);
    OUT(2, a * b);
    OUT(3, a / b);
    OUT(4, __builtin_fmaf(a, b, 1.5f));
    OUT(5, __builtin_sqrtf(__builtin_fabsf(a)));
    OUT(6, __builtin_expf(a));
    OUT(7, __builtin_logf(__builtin_fabsf(b)));
    OUT(8, __builtin_fminf(a, b) - __builtin_fmaxf(a, 0.25f));
    OUT(9, __builtin_floorf(a) + __builtin_ceilf(b));
    OUT(10, __builtin_truncf(a) * __builtin_rintf(b));
    OUT(11, (float)(i32)a + (float)(u32)__builtin_fabsf(b));
    OUT(12, __builtin_ldexpf(a, 3));
    OUT(13, __builtin_copysignf(a, b));
    OUT(14, a != a || __builtin_isinf(b) ? 1.0f : -1.0f);
    OUT(15, __builtin_amdgcn_fmed3f(a, b, 0.5f));
    OUT(16, __builtin_amdgcn_rcpf(a) + __builtin_amdgcn_rsqf(__builtin_fabsf(b)));
    OUT(17, __builtin_fminf(__builtin_fmaxf(a * b, 0.0f), 1.0f));
    OUT(18, __builtin_amdgcn_fractf(a) + (float)__builtin_amdgcn_frexp_expf(b));
    OUT(19, -__builtin_fabsf(a) * 2.0f);
}

extern "C" __global__ void zoo_f64(const double *x, const double *y, double *out, u32 n) {
    INDEX;
    const double a = x[i], b = y[i];
    OUT(0, a + b);
    OUT(1, a * b);
    OUT(2, a / b);
    OUT(3, __builtin_fma(a, b, -a));
    OUT(4, __builtin_sqrt(__builtin_fabs(a)));
    OUT(5, __builtin_floor(a) + __builtin_fmin(a, b));
    OUT(6, (double)(float)a + (double)(i32)b);
    OUT(7, a < b ? 1.0 : -0.5);
}

extern "C" __global__ void zoo_f16(const f16 *x, const f16 *y, f16 *out, u32 n) {
    INDEX;
    const f16 a = x[i], b = y[i];
    OUT(0, a + b);
    OUT(1, a * b - (f16)1.0f);
    OUT(2, a / b);
    OUT(3, (f16)__builtin_fmaf((float)a, (float)b, 0.5f));
    OUT(4, __builtin_fmaxf16(a, b));
    OUT(5, (f16)((float)a + (float)b));
    OUT(6, a < b ? a : (f16)2.0f);
    OUT(7, (f16)(i16)a);
}

extern "C" __global__ void zoo_packed(const f16x2 *x, const f16x2 *y, f16x2 *out, const i16x2 *u, i16x2 *v,
                                      u32 n) {
    INDEX;
    const f16x2 a = x[i], b = y[i];
    OUT(0, a + b);
    OUT(1, a * b);
    OUT(2, a * b + a);
    OUT(3, __builtin_elementwise_max(a, b));
    OUT(4, b.yx - a);
    const i16x2 p = u[i], q = u[n + i];
    v[i] = p + q;
    v[n + i] = p * q;
    v[2 * n + i] = p << (q & (i16)15);
    v[3 * n + i] = __builtin_elementwise_min(p, q);
}

// bf16 by hand: round to nearest even.
extern "C" __global__ void zoo_bf16(const u16 *x, const u16 *y, u16 *out, u32 n) {
    INDEX;
    const float a = bits_f32((u32)x[i] << 16), b = bits_f32((u32)y[i] << 16);
    const u32 sum = f32_bits(a + b), product = f32_bits(a * b);
    OUT(0, (u16)((sum + 0x7fff + (sum >> 16 & 1)) >> 16));
    OUT(1, (u16)((product + 0x7fff + (product >> 16 & 1)) >> 16));
}

// Two f32 per instruction.
extern "C" __global__ void zoo_pk_f32(const f32x2 *x, const f32x2 *y, f32x2 *out, u32 n) {
    INDEX;
    const f32x2 a = x[i], b = y[i];
    OUT(0, a + b);
    OUT(1, a * b);
    OUT(2, __builtin_elementwise_fma(a, b, a));
}
