// out[r][i] = decode(x)[r][i]
//
// x: any weight format [rows][n], n whole blocks, rows x_stride bytes apart; out: f32 [rows][n], rows out_stride elements
// apart. One kernel per format. Grid: ceil(n / 2048), rows: 8 elements a thread. Block: 256.
#include "decode.h"

template <class F>
DEVICE void dequantize(const u8 *x, float *out, u64 x_stride, u64 out_stride, u32 rows, u32 n) {
    const u32 row = block_row();
    if (row >= rows) return;
    decode_part<F>(x + row * x_stride, out + row * out_stride, block_x(), n);
}

#define DEQUANTIZE(NAME, FORMAT)                                                                                       \
    KERNEL(DECODE_THREADS)                                                                                             \
    dequantize_##NAME(const u8 *x, float *out, u64 x_stride, u64 out_stride, u32 rows, u32 n) {                        \
        dequantize<FORMAT>(x, out, x_stride, out_stride, rows, n);                                                     \
    }
WEIGHT_FORMATS(DEQUANTIZE)
