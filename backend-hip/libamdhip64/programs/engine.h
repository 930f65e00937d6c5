// What the engines of this folder have in common: calls that are not checked, as theirs were, and one that is.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <hip/hip_runtime.h>

// Copies to the host, and ends the program where that fails: the first call that is checked.
static void copy_to_host(void* to, const void* from, size_t bytes, const char* tensor) {
    hipError_t error = hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
    if (error != hipSuccess) {
        std::printf("[D2H FATAL] %s:FAILED hipError=%s\n", tensor, hipGetErrorName(error));
        std::exit(3);
    }
}

// Values on the host. The programs need no C++ library.
template <typename T> struct Tensor {
    T* values;
    size_t bytes;

    explicit Tensor(size_t count, T value = T()) : values((T*)std::malloc(count * sizeof(T))), bytes(count * sizeof(T)) {
        for (size_t i = 0; i < count; ++i) values[i] = value;
    }
    ~Tensor() { std::free(values); }
    T& operator[](size_t i) { return values[i]; }
};

// A device buffer with the same bytes.
template <typename T> static T* upload(const Tensor<T>& tensor) {
    T* device = nullptr;
    (void)hipMalloc((void**)&device, tensor.bytes);
    (void)hipMemcpy(device, tensor.values, tensor.bytes, hipMemcpyHostToDevice);
    return device;
}
