// What every program needs: a call that must succeed, and the end of a program.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <hip/hip_runtime.h>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        hipError_t error = (call);                                                                   \
        if (error != hipSuccess) {                                                                   \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(error));       \
            std::exit(1);                                                                            \
        }                                                                                            \
    } while (0)
