// A static object reads and frees its memory after main, as engines with global buffers do. By then the compiler's code
// has unregistered the kernels, so a launch fails. Found by hipGetProcAddress, the properties have the layout of HIP 6
// under the plain name.
#include <dlfcn.h>

#include <cstring>

#include "check.h"

__global__ void fill(int* x, int value) { x[threadIdx.x] = value; }

struct Buffer {
    int* memory = nullptr;

    Buffer() { CHECK(hipMalloc((void**)&memory, 64 * sizeof(int))); }

    ~Buffer() {
        fill<<<1, 64>>>(memory, 7);
        hipError_t launched = hipGetLastError();
        int host[64];
        CHECK(hipMemcpy(host, memory, sizeof host, hipMemcpyDeviceToHost));
        CHECK(hipFree(memory));
        std::printf("after main: %d %s\n", host[63], hipGetErrorName(launched));
    }
};

static Buffer buffer;

int main() {
    fill<<<1, 64>>>(buffer.memory, 3);
    CHECK(hipDeviceSynchronize());
    typedef hipError_t (*GetProcAddress)(const char*, void**, int, uint64_t, int*);
    typedef hipError_t (*GetProperties)(void*, int);
    GetProcAddress find = (GetProcAddress)dlsym(RTLD_DEFAULT, "hipGetProcAddress");
    GetProperties properties = nullptr;
    int result = -1;
    CHECK(find("hipGetDeviceProperties", (void**)&properties, 602, 0, &result));
    static char space[4096];
    CHECK(properties(space, 0));
    // In the layout of HIP 6 the architecture's name is at 1160.
    std::printf("in main: %d %.6s\n", result, space + 1160);
}
