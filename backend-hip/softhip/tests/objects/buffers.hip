// Buffer resources, loads straight to LDS, and the dispatch packet. Block: 64 threads.
#include "device.h"

typedef u32 u32x4 __attribute__((ext_vector_type(4)));

static __device__ inline __amdgpu_buffer_rsrc_t resource(const void *base, u32 bytes) {
    return __builtin_amdgcn_make_buffer_rsrc((void *)base, 0, bytes, 0x27000);
}

// out[t] = x[t + shift] where that is below `bytes`, 0 beyond; what is beyond out's bytes is not stored.
extern "C" __global__ void buffer_copy(const u32 *x, u32 *out, u32 bytes, u32 out_bytes, u32 shift) {
    const u32 value = __builtin_amdgcn_raw_buffer_load_b32(resource(x, bytes), 4 * thread_x() + 4, 4 * shift - 4, 0);
    __builtin_amdgcn_raw_buffer_store_b32(value, resource(out, out_bytes), 4 * thread_x(), 0, 0);
}

// The same, 16 bytes, and one byte, per thread.
extern "C" __global__ void buffer_copy_wide(const u32x4 *x, u32x4 *out, const u8 *y, u8 *bytes) {
    const u32x4 value = __builtin_amdgcn_raw_buffer_load_b128(resource(x, 1024), 16 * thread_x(), 0, 0);
    __builtin_amdgcn_raw_buffer_store_b128(value, resource(out, 1024), 16 * thread_x(), 0, 0);
    const u8 byte = __builtin_amdgcn_raw_buffer_load_b8(resource(y, 64), thread_x(), 0, 0);
    __builtin_amdgcn_raw_buffer_store_b8(byte, resource(bytes, 64), thread_x(), 0, 0);
}

// out[t] = x[t] + x[64 + t], through LDS that the loads write themselves.
extern "C" __global__ void load_to_lds(const u32 *x, u32 *out) {
    __shared__ u32 tile[128];
    typedef const __attribute__((address_space(1))) u32 *Global;
    typedef __attribute__((address_space(3))) u32 *Local;
    __builtin_amdgcn_global_load_lds((Global)x + thread_x(), (Local)tile, 4, 0, 0);
    __builtin_amdgcn_global_load_lds((Global)x + thread_x(), (Local)tile, 4, 256, 0);
    __builtin_amdgcn_s_waitcnt(0);
    barrier();
    out[thread_x()] = tile[thread_x()] + tile[64 + thread_x()];
}

// The launch's shape as the packet tells it.
extern "C" __global__ void packet(u32 *out) {
    typedef const __attribute__((address_space(4))) u32 *Words;
    const Words words = (Words)__builtin_amdgcn_dispatch_ptr();
    out[0] = words[0] >> 16;
    out[1] = words[1];
    out[2] = words[2];
    for (u32 i = 0; i < 3; ++i) out[3 + i] = words[3 + i];
}
