// A counter follows a header in a packed message. Its address is no multiple of 4, which an atomic operation needs, unless CLEAN is
// defined.
#include "engine.h"

__global__ void count(char* message, int header) { atomicAdd((int*)(message + header), 1); }

int main() {
#ifdef CLEAN
    const int header = 8;
#else
    const int header = 6;
#endif
    char* message = upload(Tensor<char>(64));
    count<<<2, 64>>>(message, header);
    Tensor<char> host(64);
    copy_to_host(host.values, message, host.bytes, "message");
    std::printf("counter: %d\n", host[header]);
    (void)hipFree(message);
}
