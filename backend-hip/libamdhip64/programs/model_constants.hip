// Kernels in a file of their own, given on the command line, have the model's constants compiled in. ANOTHER_MODEL makes the file of a
// wider model; build.sh makes both.
#include "engine.h"

#ifdef ANOTHER_MODEL
constexpr int WIDTH = 128;
#else
constexpr int WIDTH = 64;
#endif

extern "C" __global__ void add_rows(const float* x, float* out) {
    int at = blockIdx.x * WIDTH + threadIdx.x;
    for (int i = threadIdx.x; i < WIDTH; i += 64, at += 64) out[at] = x[at] + 1.0f;
}

int main(int count, char** arguments) {
    const int rows = 8, width = 64;
    hipModule_t module;
    hipFunction_t function;
    if (count != 2 || hipModuleLoad(&module, arguments[1]) != hipSuccess) return 2;
    if (hipModuleGetFunction(&function, module, "add_rows") != hipSuccess) return 2;
    float* x = upload(Tensor<float>(rows * width, 2.0f));
    float* out = upload(Tensor<float>(rows * width));
    void* values[] = {&x, &out};
    (void)hipModuleLaunchKernel(function, rows, 1, 1, 64, 1, 1, 0, nullptr, values, nullptr);
    Tensor<float> host(rows * width);
    copy_to_host(host.values, out, host.bytes, "out");
    std::printf("out[0] = %g\n", host[0]);
    (void)hipFree(x);
    (void)hipFree(out);
    return hipModuleUnload(module) == hipSuccess ? 0 : 1;
}
