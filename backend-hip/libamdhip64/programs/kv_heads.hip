// A model with 8 heads of queries and 2 of keys. The kernel reads the weights of the keys with the head count of the queries, unless
// CLEAN is defined.
#include "engine.h"

constexpr int QUERY_HEADS = 8, KEY_HEADS = 2, DIM = 64, WIDTH = 64;

// k[head * dim + i] = x . weight[head * dim + i]
__global__ void project_keys(const float* x, const float* k_weight, float* k, int dim, int width) {
    int row = blockIdx.x * dim + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < width; ++i) sum += x[i] * k_weight[row * width + i];
    k[row] = sum;
}

int main() {
#ifdef CLEAN
    const int heads = KEY_HEADS;
#else
    const int heads = QUERY_HEADS;
#endif
    float* x = upload(Tensor<float>(WIDTH, 1.0f));
    float* weight = upload(Tensor<float>(KEY_HEADS * DIM * WIDTH, 0.25f));
    float* k = nullptr;
    (void)hipMalloc((void**)&k, QUERY_HEADS * DIM * sizeof(float));
    project_keys<<<heads, DIM>>>(x, weight, k, DIM, WIDTH);
    Tensor<float> host(KEY_HEADS * DIM);
    copy_to_host(host.values, k, host.bytes, "k");
    std::printf("k[0] = %g\n", host[0]);
    (void)hipFree(x);
    (void)hipFree(weight);
    (void)hipFree(k);
}
