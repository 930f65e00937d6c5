// RMSNorm with a signature of its own: output first, strides as int, epsilon before the sizes.
// dst[r][i] = src[r][i] / sqrt(mean(src[r]²) + epsilon) · gamma[i]
//
// Grid: rows. Block: 256. No ROCm header is needed, so that hipcc and clang alone both build it.
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))

static __attribute__((device)) inline void block_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

extern "C" __global__ __launch_bounds__(256) void my_rms_norm(
    float *dst, const float *src, const float *gamma, float epsilon, int ncols, int src_stride, int dst_stride) {
    __shared__ float partial[256];
    const int thread = __builtin_amdgcn_workitem_id_x();
    const long row = __builtin_amdgcn_workgroup_id_x();
    src += row * src_stride;
    dst += row * dst_stride;
    float sum = 0.0f;
    for (int i = thread; i < ncols; i += 256) sum += src[i] * src[i];
    partial[thread] = sum;
    block_barrier();
    for (int half = 128; half > 0; half /= 2) {
        if (thread < half) partial[thread] += partial[thread + half];
        block_barrier();
    }
    const float scale = 1.0f / __builtin_sqrtf(partial[0] / ncols + epsilon);
    for (int i = thread; i < ncols; i += 256) dst[i] = src[i] * scale * gamma[i];
}
