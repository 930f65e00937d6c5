// What a launch gets from the runtime besides its arguments: the dispatch packet, the queue, a buffer to ask the host
// through, a place where the workgroups of a cooperative launch meet, and allocations of any size.
#include "device.h"

typedef const __attribute__((address_space(4))) u8 *constant;
typedef __attribute__((address_space(1))) u8 *global;

// Code object v5 keeps these at fixed places of the implicit arguments.
static __device__ inline global implicit(u32 at) {
    return *(global const __attribute__((address_space(4))) *)((constant)__builtin_amdgcn_implicitarg_ptr() + at);
}

// The dispatch packet: 16 dwords.
extern "C" __global__ void dispatch_packet(u32 *out) {
    const __attribute__((address_space(4))) u32 *packet =
        (const __attribute__((address_space(4))) u32 *)__builtin_amdgcn_dispatch_ptr();
    if (block_x() == 0 && thread_x() < 16) out[thread_x()] = packet[thread_x()];
}

// The queue: its kind, its features, and the high halves of flat addresses of LDS and of private memory.
extern "C" __global__ void queue(u32 *out) {
    const __attribute__((address_space(1))) u32 *queue = (const __attribute__((address_space(1))) u32 *)implicit(200);
    if (thread_x() == 0) {
        out[0] = queue[0];
        out[1] = queue[1];
        out[2] = queue[16];
        out[3] = queue[17];
    }
}

// Far into an allocation, by 64-bit addresses, and by a scalar base with 32-bit offsets.
extern "C" __global__ void far(u32 *x, u32 high, u32 low) {
    const u64 at = (u64)high << 32 | low;
    x[at + thread_x()] = thread_x() + 1;
    x[at + 64 + thread_x()] = x[at + thread_x()] * 2;
}

// All workgroups meet: one work-item of each counts up, and the last one changes the phase above bit 16.
struct Meeting {
    u64 peers;
    u32 grid, grids;
    u64 before, all;
    u32 arrived, unused;
    u32 groups;
};
static __device__ inline void meet() {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    __builtin_amdgcn_s_barrier();
    if (thread_x() == 0) {
        __attribute__((address_space(1))) Meeting *meeting = (__attribute__((address_space(1))) Meeting *)implicit(88);
        const u32 groups = meeting->groups;
        const u32 was = __hip_atomic_fetch_add(&meeting->arrived, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        if ((was & 0xffff) == groups - 1) {
            __hip_atomic_fetch_add(&meeting->arrived, 0x10000u - groups, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        } else {
            while (__hip_atomic_load(&meeting->arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) >> 16 == was >> 16)
                __builtin_amdgcn_s_sleep(1);
        }
    }
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
}

// Sums `x` by halves: after each step all workgroups need what the others wrote. `n` is a power of two.
extern "C" __global__ void grid_sum(u32 *x, u32 n, u32 groups) {
    const u32 threads = groups * block_dim_x(), me = block_x() * block_dim_x() + thread_x();
    for (u32 half = n / 2; half; half /= 2) {
        for (u32 i = me; i < half; i += threads) x[i] += x[i + half];
        meet();
    }
}

// As above, without meeting: a race.
extern "C" __global__ void grid_sum_alone(u32 *x, u32 n, u32 groups) {
    const u32 threads = groups * block_dim_x(), me = block_x() * block_dim_x() + thread_x();
    for (u32 half = n / 2; half; half /= 2)
        for (u32 i = me; i < half; i += threads) x[i] += x[i + half];
}

// Asking the host: a packet from a stack of free ones is filled by all lanes and pushed on a stack of ready ones; the
// host takes the flag back when it has answered. Entries of the stacks are an index below a tag.
struct Header {
    u64 next, lanes;
    u32 service, ready;
};
struct Calls {
    __attribute__((address_space(1))) Header *headers;
    __attribute__((address_space(1))) u64 *payloads;
    u64 doorbell, free, ready, mask;
};
typedef __attribute__((address_space(1))) Calls *calls;

static __device__ inline void push(calls buffer, __attribute__((address_space(1))) u64 *top, u64 entry) {
    u64 old = __hip_atomic_load(top, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    do {
        buffer->headers[entry & buffer->mask].next = old;
    } while (!__hip_atomic_compare_exchange_strong(top, &old, entry, __ATOMIC_RELEASE, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_SYSTEM));
}
static __device__ inline u64 pop(calls buffer) {
    u64 top = __hip_atomic_load(&buffer->free, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM), next;
    do {
        next = __hip_atomic_load(&buffer->headers[top & buffer->mask].next, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    } while (!__hip_atomic_compare_exchange_strong(&buffer->free, &top, next, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_SYSTEM));
    return top;
}
static __device__ inline u32 first_lane() { return __builtin_amdgcn_readfirstlane(lane_id()); }

// Seven words and what they are for, in; one word out.
static __device__ __attribute__((noinline)) u64 ask(u32 service, u64 what, const u64 *words) {
    calls buffer = (calls)implicit(80);
    const u32 me = lane_id(), first = first_lane();
    u64 entry = 0;
    if (me == first) entry = pop(buffer);
    entry = (u64)__builtin_amdgcn_readfirstlane((u32)(entry >> 32)) << 32 | (u32)__builtin_amdgcn_readfirstlane((u32)entry);
    __attribute__((address_space(1))) Header *header = buffer->headers + (entry & buffer->mask);
    __attribute__((address_space(1))) u64 *slot = buffer->payloads + 512 * (entry & buffer->mask) + 8 * me;
    const u64 lanes = __builtin_amdgcn_read_exec();
    if (me == first) {
        header->service = service;
        header->lanes = lanes;
        header->ready = 1;
    }
    slot[0] = what;
    for (u32 i = 0; i < 7; i++) slot[1 + i] = words[i];
    if (me == first) {
        push(buffer, &buffer->ready, entry);
        __hip_atomic_fetch_add((__attribute__((address_space(1))) u64 *)(buffer->doorbell + 8), 1ull, __ATOMIC_RELEASE,
                               __HIP_MEMORY_SCOPE_SYSTEM);
    }
    u32 waiting = 1;
    while (waiting) {
        if (me == first) waiting = __hip_atomic_load(&header->ready, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
        waiting = __builtin_amdgcn_readfirstlane(waiting) & 1;
        if (waiting) __builtin_amdgcn_s_sleep(1);
    }
    const u64 answer = slot[0];
    if (me == first) push(buffer, &buffer->free, entry + buffer->mask + 1);
    return answer;
}

// A message to `printf`: begin, its text, its arguments, end. Answers what `printf` returns.
static __device__ u64 say(u64 stream, const char *text, u32 arguments, const u64 *words) {
    const u64 BEGIN = 1, END = 2;
    u64 part[7] = {stream};
    u64 message = ask(2, BEGIN | 1 << 5, part) & ~(u64)0xff;
    for (bool more = true; more;) {
        for (u32 i = 0; i < 7; i++) {
            part[i] = 0;
            for (u32 byte = 0; byte < 8 && more; byte++) {
                part[i] |= (u64)(u8)*text << 8 * byte;
                more = *text++ != 0;
            }
            if (!more) {
                ask(2, message | (i + 1) << 5 | (arguments ? 0 : END), part);
                break;
            }
        }
        if (more) ask(2, message | 7 << 5, part);
    }
    return arguments ? ask(2, message | arguments << 5 | END, words) : 0;
}

extern "C" __global__ void hello(u32 *out, u32 lanes) {
    const u32 me = block_x() * block_dim_x() + thread_x();
    if (thread_x() % 64 < lanes) {
        const u64 words[7] = {me, __builtin_bit_cast(u64, 0.5 * me), 0x6f77 /* "wo" */, (u64)(i64)-1};
        out[me] = say(0, "thread %3u has %.2f, says %s, and %lld%%\n, in more than fifty-six bytes of text\n", 4, words);
    }
}

// `assert`: a message to the host's standard error, then a trap.
extern "C" __global__ void check_all(const u32 *x, u32 n) {
    if (thread_x() < n && x[thread_x()] == 0) {
        const u64 words[7] = {thread_x()};
        say(1, "x[%u] is 0\n", 1, words);
        __builtin_trap();
    }
}

extern "C" __global__ void unknown_service(u32 *out) {
    const u64 words[7] = {};
    out[thread_x()] = ask(77, 1, words);
}
