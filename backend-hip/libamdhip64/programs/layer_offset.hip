// The keys of a layer are copied out of a cache of all layers. The layer's stride is counted in bytes and scaled by the size of an element
// once more, unless CLEAN is defined.
#include "engine.h"

constexpr int LAYERS = 4, SLOTS = 32, WIDTH = 64;

int main() {
    const size_t stride = SLOTS * WIDTH * sizeof(float);
#ifdef CLEAN
    const size_t scale = 1;
#else
    const size_t scale = sizeof(float);
#endif
    float* cache = upload(Tensor<float>(LAYERS * SLOTS * WIDTH, 1.0f));
    Tensor<float> host(SLOTS * WIDTH);
    copy_to_host(host.values, (char*)cache + 2 * stride * scale, host.bytes, "k_cache");
    std::printf("k[0] = %g\n", host[0]);
    (void)hipFree(cache);
}
