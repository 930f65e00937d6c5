// An engine whose RoPE reads 4-byte positions. The buffer is allocated for 2-byte ones, unless CLEAN is defined. No launch is
// checked; the first call that is checked is the copy of the logits.
#include "engine.h"

constexpr int TOKENS = 64, HEADS = 4, DIM = 32;

__global__ void rope(float* q, const int* positions, int heads, int dim) {
    int token = blockIdx.x, pair = threadIdx.x;
    float angle = float(positions[token]) * (1.0f / float(1 + pair % (dim / 2)));
    int at = (token * heads + pair / (dim / 2)) * dim + 2 * (pair % (dim / 2));
    float x = q[at], y = q[at + 1];
    q[at] = x - angle * y;
    q[at + 1] = y + angle * x;
}

__global__ void project(const float* q, float* logits, int width) {
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += 64) sum += q[blockIdx.x * width + i];
    logits[blockIdx.x * 64 + threadIdx.x] = sum;
}

#ifdef CLEAN
using Position = int;
#else
using Position = short;
#endif

static int* positions_of(int tokens) {
    Tensor<Position> values(tokens);
    for (int i = 0; i < tokens; ++i) values[i] = Position(i);
    return (int*)upload(values);
}

static void forward(float* q, const int* positions, float* logits) {
    rope<<<TOKENS, HEADS * DIM / 2>>>(q, positions, HEADS, DIM);
    project<<<TOKENS, 64>>>(q, logits, HEADS * DIM);
}

int main() {
    float* q = upload(Tensor<float>(TOKENS * HEADS * DIM, 0.5f));
    int* positions = positions_of(TOKENS);
    float* logits = nullptr;
    (void)hipMalloc((void**)&logits, TOKENS * 64 * sizeof(float));
    forward(q, positions, logits);
    Tensor<float> host(TOKENS * 64);
    copy_to_host(host.values, logits, host.bytes, "logits");
    std::printf("logits[0] = %g\n", host[0]);
    (void)hipFree(q);
    (void)hipFree(positions);
    (void)hipFree(logits);
}
