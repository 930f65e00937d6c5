// A buffer is freed twice, unless CLEAN is defined.
#include "engine.h"

int main() {
    void* device = nullptr;
    (void)hipMalloc(&device, 1000);
    (void)hipFree(device);
#ifndef CLEAN
    (void)hipFree(device);
#endif
    std::printf("freed\n");
}
