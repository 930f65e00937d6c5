// A kernel is compiled at run time. Where no compiler is found, the log says what to install.
#include <cstring>

#include <hip/hiprtc.h>

#include "check.h"

static const char* const SOURCE = "#include \"by.h\"\n"
                                  "template <typename T> __global__ void scale(T* x, int n) {\n"
                                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                  "    if (i < n) x[i] *= by();\n"
                                  "}\n";
static const char* const HEADER = "__device__ inline int by() { return FACTOR; }\n";
static const char* const HEADER_NAME = "by.h";

static char* log_of(hiprtcProgram program) {
    size_t size = 0;
    (void)hiprtcGetProgramLogSize(program, &size);
    char* log = (char*)std::malloc(size);
    (void)hiprtcGetProgramLog(program, log);
    return log;
}

int main() {
    hiprtcProgram program;
    if (hiprtcCreateProgram(&program, SOURCE, "scale.cu", 1, (const char**)&HEADER, (const char**)&HEADER_NAME) != HIPRTC_SUCCESS) return 1;
    if (hiprtcAddNameExpression(program, "scale<float>") != HIPRTC_SUCCESS) return 1;
    const char* options[] = {"--gpu-architecture=gfx942:sramecc+:xnack-", "-DFACTOR=3"};
    // Without the option there is no FACTOR, which the log says.
    hiprtcResult result = hiprtcCompileProgram(program, 1, options);
    char* log = log_of(program);
    if (result == HIPRTC_ERROR_COMPILATION) std::printf("log: %s\n", std::strstr(log, "FACTOR") && std::strstr(log, "by.h:1") ? "right" : log);
    else return std::printf("%s: %s\n", hiprtcGetErrorString(result), log), 0;
    if (hiprtcCompileProgram(program, 2, options) != HIPRTC_SUCCESS) return std::printf("%s\n", log_of(program)), 1;
    const char* name = nullptr;
    if (hiprtcGetLoweredName(program, "scale<float>", &name) != HIPRTC_SUCCESS) return 1;
    std::printf("name: %s\n", name);
    size_t size = 0;
    if (hiprtcGetCodeSize(program, &size) != HIPRTC_SUCCESS) return 1;
    char* code = (char*)std::malloc(size);
    if (hiprtcGetCode(program, code) != HIPRTC_SUCCESS) return 1;

    hipModule_t module;
    hipFunction_t function;
    CHECK(hipModuleLoadData(&module, code));
    CHECK(hipModuleGetFunction(&function, module, name));
    float host[100], *device = nullptr;
    for (int i = 0; i < 100; ++i) host[i] = float(i);
    CHECK(hipMalloc((void**)&device, sizeof host));
    CHECK(hipMemcpy(device, host, sizeof host, hipMemcpyHostToDevice));
    int count = 100;
    void* arguments[] = {&device, &count};
    CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    CHECK(hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < 100; ++i) if (host[i] != 3.0f * float(i)) return 1;
    std::printf("rtc: right\n");
    CHECK(hipFree(device));
    CHECK(hipModuleUnload(module));
    return hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS ? 0 : 1;
}
