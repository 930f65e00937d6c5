// A graph that is put together node by node, with an edge that goes against the order of the nodes; then the thread's own default stream.
#include "check.h"

__global__ void add(int* values, int what) { values[threadIdx.x] += what; }

static void count(void* counter) { ++*static_cast<int*>(counter); }

int main() {
    constexpr int N = 64;
    int *values, host[N], calls = 0, wrong = 0, what = 5;
    CHECK(hipMalloc(&values, sizeof(host)));
    hipGraph_t graph;
    CHECK(hipGraphCreate(&graph, 0));

    // What runs second is added first.
    void* arguments[] = {&values, &what};
    hipKernelNodeParams kernel = {};
    kernel.func = reinterpret_cast<void*>(add);
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(N);
    kernel.kernelParams = arguments;
    hipGraphNode_t add_node, fill_node, copy_node, host_node;
    CHECK(hipGraphAddKernelNode(&add_node, graph, nullptr, 0, &kernel));
    hipMemsetParams fill = {};
    fill.dst = values;
    fill.elementSize = 4;
    fill.width = N;
    fill.height = 1;
    fill.value = 100;
    CHECK(hipGraphAddMemsetNode(&fill_node, graph, nullptr, 0, &fill));
    CHECK(hipGraphAddDependencies(graph, &fill_node, &add_node, 1));
    CHECK(hipGraphAddMemcpyNode1D(&copy_node, graph, &add_node, 1, host, values, sizeof(host), hipMemcpyDeviceToHost));
    hipHostNodeParams call = {count, &calls};
    CHECK(hipGraphAddHostNode(&host_node, graph, &copy_node, 1, &call));
    size_t nodes = 0, roots = 0;
    CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
    CHECK(hipGraphGetRootNodes(graph, nullptr, &roots));
    wrong += nodes != 4 || roots != 1;

    hipGraphExec_t executable;
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int value : host) wrong += value != 105;
    // Arguments are copied: only the new parameters count.
    what = 7;
    CHECK(hipGraphExecKernelNodeSetParams(executable, add_node, &kernel));
    what = 1000;
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int value : host) wrong += value != 107;
    wrong += calls != 2;
    // A cycle is no graph.
    CHECK(hipGraphAddDependencies(graph, &host_node, &fill_node, 1));
    hipGraphExec_t none;
    wrong += hipGraphInstantiate(&none, graph, nullptr, nullptr, 0) == hipSuccess;
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipStreamDestroy(stream));

    add<<<1, N, 0, hipStreamPerThread>>>(values, 1);
    CHECK(hipMemcpyAsync(host, values, sizeof(host), hipMemcpyDeviceToHost, hipStreamPerThread));
    CHECK(hipStreamSynchronize(hipStreamPerThread));
    for (int value : host) wrong += value != 108;
    CHECK(hipFree(values));
    std::printf("graph_nodes: %s\n", wrong ? "wrong" : "right");
    return wrong != 0;
}
