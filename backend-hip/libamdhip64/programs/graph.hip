// Two streams are captured into a graph, which is launched twice and updated. Prints "graph: right".
#include "check.h"

__global__ void add(int* x, int n) { x[threadIdx.x] += n; }

static hipGraph_t capture(hipStream_t stream, hipStream_t other, int* x, int n) {
    hipEvent_t fork, join;
    CHECK(hipEventCreate(&fork));
    CHECK(hipEventCreate(&join));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    add<<<1, 64, 0, stream>>>(x, n);
    CHECK(hipEventRecord(fork, stream));
    CHECK(hipStreamWaitEvent(other, fork, 0));
    add<<<1, 64, 0, other>>>(x + 64, 2 * n);
    CHECK(hipEventRecord(join, other));
    CHECK(hipStreamWaitEvent(stream, join, 0));
    hipGraph_t graph;
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipEventDestroy(fork));
    CHECK(hipEventDestroy(join));
    return graph;
}

int main() {
    int host[128];
    int* x;
    CHECK(hipMalloc((void**)&x, sizeof host));
    CHECK(hipMemset(x, 0, sizeof host));
    hipStream_t stream, other;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamCreate(&other));
    hipGraph_t graph = capture(stream, other, x, 1);
    CHECK(hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost));
    if (host[0] != 0) return 1;
    hipGraphExec_t executable;
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    size_t count = 0;
    CHECK(hipGraphGetNodes(graph, nullptr, &count));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipGraphLaunch(executable, stream));
    hipGraph_t changed = capture(stream, other, x, 10);
    hipGraphNode_t node;
    hipGraphExecUpdateResult result;
    CHECK(hipGraphExecUpdate(executable, changed, &node, &result));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost));
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipGraphDestroy(changed));
    CHECK(hipStreamDestroy(stream));
    CHECK(hipStreamDestroy(other));
    CHECK(hipFree(x));
    std::printf("graph: %s\n", count == 2 && host[0] == 12 && host[127] == 24 ? "right" : "wrong");
}
