// Memory of device and host is not freed, unless CLEAN is defined.
#include "engine.h"

int main() {
    void *device = nullptr, *host = nullptr;
    (void)hipMalloc(&device, 1000);
    (void)hipHostMalloc(&host, 24, hipHostMallocDefault);
    std::printf("allocated\n");
#ifdef CLEAN
    (void)hipFree(device);
    (void)hipHostFree(host);
#endif
}
