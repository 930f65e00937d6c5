// What a program that hiprtc compiles finds declared.
#if !defined(ASSAY_NO_LIBRARIES) && __has_include(<hip/hip_runtime.h>)
#include <hip/hip_runtime.h>
#else
// HIP's header or its libraries are missing: the indices, the barrier, and nothing else.
#define ASSAY_INDEX(name, expression)                                                                                  \
    struct assay_##name {                                                                                              \
        template <int d> static __device__ unsigned get() { return expression; }                                      \
        __device__ unsigned get_x() const { return get<0>(); }                                                         \
        __device__ unsigned get_y() const { return get<1>(); }                                                         \
        __device__ unsigned get_z() const { return get<2>(); }                                                         \
        __declspec(property(get = get_x)) unsigned x;                                                                  \
        __declspec(property(get = get_y)) unsigned y;                                                                  \
        __declspec(property(get = get_z)) unsigned z;                                                                  \
    };                                                                                                                 \
    extern const __device__ __attribute__((weak)) assay_##name name;
#define ASSAY_OF(builtin) (d == 0 ? __builtin_amdgcn_##builtin##_x() : d == 1 ? __builtin_amdgcn_##builtin##_y() : __builtin_amdgcn_##builtin##_z())
ASSAY_INDEX(threadIdx, ASSAY_OF(workitem_id))
ASSAY_INDEX(blockIdx, ASSAY_OF(workgroup_id))
ASSAY_INDEX(blockDim, ASSAY_OF(workgroup_size))
ASSAY_INDEX(gridDim, ASSAY_OF(grid_size) / ASSAY_OF(workgroup_size))
#undef ASSAY_INDEX
#undef ASSAY_OF
static __device__ inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif
#ifdef ASSAY_ISA_VERSION
// The device libraries ask for it.
extern "C" __attribute__((visibility("hidden"))) __constant__ const int __oclc_ISA_version = ASSAY_ISA_VERSION;
#endif
