// The emulated driver: a graph runs only while the memory that its kernels point to is still allocated.
#include <string.h>

#include "dialect/host.h"
#include "test/check.h"

extern "C" {
int cuCtxCreate_v2(void** context, unsigned flags, int device);
int cuCtxDestroy_v2(void* context);
int cuGetErrorString(int error, const char** text);
int cuMemAlloc_v2(unsigned long long* data, size_t bytes);
int cuMemFree_v2(unsigned long long data);
int cuModuleGetFunction(const void** function, void* module, const char* name);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuStreamBeginCapture_v2(void* stream, int mode);
int cuStreamEndCapture(void* stream, void** graph);
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long flags);
int cuGraphDestroy(void* graph);
int cuGraphExecDestroy(void* exec);
int cuGraphLaunch(void* exec, void* stream);
int cuLaunchKernel(const void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void** extra);
}

namespace quern::gpu {
namespace {

constexpr int n = 64;

struct Ones {
  int value;
  Global<float> unused, y; // at bytes 8 and 16
};

KERNEL(writes_value, Ones) { args.y[thread_index()] = float(args.value); }

// A context, two buffers, and a graph of one launch that points to both.
struct Captured {
  Captured() {
    cuCtxCreate_v2(&context, 0, 0);
    cuStreamCreate(&stream, 0);
    for (auto& buffer : buffers) cuMemAlloc_v2(&buffer, n * sizeof(float));
    const auto pointer = [&](int i) { return Global(reinterpret_cast<float*>(buffers[i])); };
    Ones args{1, pointer(0), pointer(1)};
    void *argument = &args, *graph = nullptr;
    const void* function = nullptr;
    cuModuleGetFunction(&function, nullptr, "writes_value");
    cuStreamBeginCapture_v2(stream, 2);
    cuLaunchKernel(function, 1, 1, 1, n, 1, 1, 0, stream, &argument, nullptr);
    cuStreamEndCapture(stream, &graph);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    cuGraphDestroy(graph);
  }
  ~Captured() {
    cuGraphExecDestroy(exec);
    cuCtxDestroy_v2(context);
  }
  // The driver's text about a launch of the graph; empty: it succeeds.
  std::string launched() {
    cuGraphLaunch(exec, stream);
    const int result = cuStreamSynchronize(stream);
    const char* text = "";
    if (result != 0) cuGetErrorString(result, &text);
    return text;
  }

  void *context = nullptr, *stream = nullptr, *exec = nullptr;
  unsigned long long buffers[2];
};

void a_graph_runs_again() {
  Captured captured;
  for (int i = 0; i < 2; i++) check(captured.launched().empty(), "%s", captured.launched().c_str());
}

// Also of a pointer that the kernel does not follow, and if the memory was allocated anew.
void freed_memory_is_caught() {
  for (int buffer = 0; buffer < 2; buffer++)
    for (const bool again : {false, true}) {
      Captured captured;
      cuMemFree_v2(captured.buffers[buffer]);
      unsigned long long other = 0;
      if (again) cuMemAlloc_v2(&other, n * sizeof(float));
      check(!again || other == captured.buffers[buffer], "memory at the same address");
      const std::string message = captured.launched(), place = "byte " + std::to_string(8 + buffer * 8) + " of its argument";
      const bool right = message.find("writes_value: ") == 0 && message.find(place) != std::string::npos;
      check(right, "expected '%s', got '%s'", place.c_str(), message.c_str());
    }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  a_graph_runs_again();
  freed_memory_is_caught();
  return report("graphs of the emulated driver");
}
