// Control flow that splits the wave: x, out: [n] u32. Grid * block >= n.
#include "device.h"

// Steps of the Collatz sequence: every lane leaves the loop at its own time.
extern "C" __global__ void collatz(const u32 *x, u32 *out, u32 n) {
    const u32 i = block_x() * block_dim_x() + thread_x();
    if (i >= n) return;
    u32 v = x[i], steps = 0;
    while (v > 1 && steps < 1000) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        ++steps;
    }
    out[i] = steps;
}

// A switch, nested branches, a break and a continue.
extern "C" __global__ void nested(const u32 *x, u32 *out, u32 n) {
    const u32 i = block_x() * block_dim_x() + thread_x();
    if (i >= n) return;
    u32 v = x[i], sum = 0;
    for (u32 k = 0; k < 16; ++k) {
        const u32 digit = v >> (2 * k) & 3;
        switch (digit) {
        case 0: continue;
        case 1: sum += k * k; break;
        case 2:
            if (sum & 1) sum = sum * 5 + x[(i + k) % n];
            else sum ^= 0x9e3779b9u;
            break;
        default: sum -= k; break;
        }
        if (sum > 0xf0000000u) break;
    }
    out[i] = sum;
}

// A call through a pointer the compiler cannot see through.
static __device__ __attribute__((noinline)) u32 twice(u32 v) { return v * 2 + 1; }
static __device__ __attribute__((noinline)) u32 square(u32 v) { return v * v; }
extern "C" __global__ void indirect_call(const u32 *x, u32 *out, u32 which) {
    u32 (*fn)(u32) = which ? square : twice;
    out[thread_x()] = fn(x[thread_x()]);
}

// An array indexed at run time: scratch memory.
#define KEEP_LOOP _Pragma("clang loop unroll(disable)")
extern "C" __global__ void scratch_sort(const u32 *x, u32 *out) {
    u32 v[40];
    const u32 base = thread_x() * 40;
    KEEP_LOOP for (u32 i = 0; i < 40; ++i) v[i] = x[base + i];
    KEEP_LOOP for (u32 i = 1; i < 40; ++i) {
        const u32 key = v[i];
        u32 j = i;
        KEEP_LOOP while (j > 0 && v[j - 1] > key) {
            v[j] = v[j - 1];
            --j;
        }
        v[j] = key;
    }
    KEEP_LOOP for (u32 i = 0; i < 40; ++i) out[base + i] = v[i];
}

// Constants in .rodata, indexed by data.
__attribute__((device)) const u32 primes[64] = {
    2,   3,   5,   7,   11,  13,  17,  19,  23,  29,  31,  37,  41,  43,  47,  53,  59,  61,  67,  71,  73,  79,
    83,  89,  97,  101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193,
    197, 199, 211, 223, 227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311};
extern "C" __global__ void lookup(const u32 *x, u32 *out) { out[thread_x()] = primes[x[thread_x()] & 63]; }
