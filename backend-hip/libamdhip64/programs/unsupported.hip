// A call that the software device does not have.
#include "check.h"

int main() {
    hipIpcMemHandle_t handle;
    std::printf("%s\n", hipGetErrorName(hipIpcGetMemHandle(&handle, nullptr)));
}
