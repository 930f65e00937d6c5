// RMSNorm with a bug: the last element of a row is left out of the sum.
#include "foreign.h"

KERNEL my_rms_norm(float *dst, const float *src, const float *gamma, float epsilon, int ncols, int src_stride, int dst_stride) {
    src += block_x() * src_stride;
    dst += block_x() * dst_stride;
    float sum = 0.0f;
    for (int i = thread_x(); i < ncols - 1; i += 256) sum += src[i] * src[i];
    const float factor = 1.0f / __builtin_sqrtf(block_sum(sum) / ncols + epsilon);
    for (int i = thread_x(); i < ncols; i += 256) dst[i] = src[i] * factor * gamma[i];
}

// And one that writes past the end of a row.
KERNEL past_the_row(float *dst, const float *src, const float *gamma, float epsilon, int ncols, int src_stride, int dst_stride) {
    src += block_x() * src_stride;
    dst += block_x() * dst_stride;
    const float factor = factor_of(src, ncols, epsilon);
    for (int i = thread_x(); i < (ncols + 3) / 4 * 4; i += 256) dst[i] = (i < ncols ? src[i] * gamma[i] : 0.0f) * factor;
}
