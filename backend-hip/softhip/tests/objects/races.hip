// Races that cannot change a result, and those that can. Block: 128 threads.
#include "device.h"

// Every thread of every block writes `value`, plus its own number times `spread`: right if `spread` is 0.
extern "C" __global__ void same_word(u32 *out, u32 value, u32 spread) {
    out[0] = value + spread * (block_x() * 128 + thread_x());
}

// The same in LDS, by two waves; block 0 stores what it reads behind a barrier.
extern "C" __global__ void same_lds_word(u32 *out, u32 value, u32 spread) {
    __shared__ u32 word;
    word = value + spread * __builtin_amdgcn_readfirstlane(thread_x() / 64);
    barrier();
    if (block_x() == 0) out[thread_x()] = word;
}

// Adds 1 per block as programs without such an atomic do: a plain load, then compare-and-swaps. Without `swaps` the
// load stays alone, which is a race. The load is a scalar one.
extern "C" __global__ void add_by_swapping(u32 *counter, u32 *out, u32 swaps) {
    if (thread_x() != 0) return;
    u32 old = *counter;
    if (swaps) {
        u32 assumed;
        do {
            assumed = old;
            __atomic_compare_exchange_n(counter, &old, assumed + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        } while (old != assumed);
    } else if (block_x() == 0) {
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    }
    out[block_x()] = old;
}

// The same with a vector load: each thread has a counter.
extern "C" __global__ void add_by_swapping_each(u32 *counters, u32 *out, u32 swaps) {
    u32 *counter = counters + thread_x();
    u32 old = *counter;
    if (swaps) {
        u32 assumed;
        do {
            assumed = old;
            __atomic_compare_exchange_n(counter, &old, assumed + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        } while (old != assumed);
    } else if (block_x() == 0) {
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    }
    out[block_x() * 128 + thread_x()] = old;
}

// Each thread stores its number and reads that of the thread 64 further on, another wave's: right if `fenced`.
extern "C" __global__ void next_wave(u32 *out, u32 fenced, u32 unused) {
    out[thread_x()] = thread_x();
    if (fenced) barrier();
    u32 next = __builtin_nontemporal_load(out + (thread_x() + 64) % 128);
    barrier();
    out[thread_x()] = next + unused;
}

// Both waves write the same words, of equal values unless `spread`.
extern "C" __global__ void same_by_waves(u32 *out, u32 value, u32 spread) {
    if (block_x() == 0) out[thread_x() % 64] = value + spread * (thread_x() / 64);
}
