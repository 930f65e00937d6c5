// out[r][i] = decode(x)[r][i]
//
// x: any weight format [rows][n], n whole blocks, rows x_stride bytes apart; out: f32 [rows][n], rows out_stride elements
// apart. One kernel per format. Grid: rows · parts, a part being 2048 elements of a row, 8 a thread. Block: 256.
#include "decode.h"

template <class F>
DEVICE void dequantize(const u8 *x, float *out, u64 x_stride, u64 out_stride, u32 parts, u32 n) {
    const u32 row = block_x() / parts, part = block_x() % parts;
    decode_part<F>(x + row * x_stride, out + row * out_stride, part, n);
}

#define DEQUANTIZE(NAME, FORMAT)                                                                                       \
    KERNEL(DECODE_THREADS)                                                                                             \
    dequantize_##NAME(const u8 *x, float *out, u64 x_stride, u64 out_stride, u32 parts, u32 n) {                       \
        dequantize<FORMAT>(x, out, x_stride, out_stride, parts, n);                                                    \
    }
WEIGHT_FORMATS(DEQUANTIZE)
