// Limits of a device, measured without Quern: copies, reads, bf16 products by mma.sync (on Hopper wgmma is faster), the link to the host, launches, with
// programmatic dependence too. Prints a line of JSON for each figure as it is found: the best of several runs.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>

static void need(cudaError_t result, const char* act) {
  if (result == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", act, cudaGetErrorString(result));
  exit(1);
}

// Least seconds of `act` on the device.
template <class F>
static double seconds_of(const F& act, int times = 10) {
  cudaEvent_t start, end;
  need(cudaEventCreate(&start), "making an event");
  need(cudaEventCreate(&end), "making an event");
  float least = 1e30f;
  for (int i = 0; i < times; i++) {
    float milliseconds = 0;
    need(cudaEventRecord(start), "recording");
    act();
    need(cudaEventRecord(end), "recording");
    need(cudaEventSynchronize(end), "waiting");
    need(cudaEventElapsedTime(&milliseconds, start, end), "timing");
    if (i > 1) least = std::min(least, milliseconds);
  }
  return least / 1e3;
}

__global__ void nothing() {}

// As Quern's kernels: waits for the launch before, and lets the next begin.
__global__ void dependent() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

static void launch_nothing(cudaStream_t stream) { nothing<<<1, 32, 0, stream>>>(); }
static void launch_dependent(cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 1, config.blockDim = 32, config.stream = stream, config.attrs = &attribute, config.numAttrs = 1;
  need(cudaLaunchKernelEx(&config, dependent), "launching with an attribute");
}

// Each thread adds up four vectors at a time; a sum that cannot be is written, so that the loads stay.
__global__ void reads(const uint4* from, size_t count, uint32_t* sums) {
  uint32_t sum = 0;
  const size_t threads = size_t(gridDim.x) * blockDim.x;
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * threads < count; i += 4 * threads) {
    const uint4 a = from[i], b = from[i + threads], c = from[i + 2 * threads], d = from[i + 3 * threads];
    sum += (a.x ^ a.y ^ a.z ^ a.w) + (b.x ^ b.y ^ b.z ^ b.w) + (c.x ^ c.y ^ c.z ^ c.w) + (d.x ^ d.y ^ d.z ^ d.w);
  }
  for (; i < count; i += threads) sum += from[i].x;
  if (sum == 0xdeadbeefu) *sums = sum;
}

// Each warp multiplies 8 pairs of fragments again and again: only the tensor cores are busy. The sums are written, and the
// operands are not zero: zeros run faster.
__global__ void products(float* sums, int turns) {
  uint32_t a[4], b[2];
  float c[8][4] = {};
  // Pairs of numbers from 1 to 1.5, of both signs.
  for (uint32_t i = 0; i < 4; i++) a[i] = 0x3f803f80u + 0x00010003u * ((threadIdx.x * 7 + i) % 21) + ((threadIdx.x + i) % 2 << 31);
  for (uint32_t i = 0; i < 2; i++) b[i] = 0x3f803f80u + 0x00030001u * ((threadIdx.x * 5 + i) % 21) + ((threadIdx.x / 4 + i) % 2 << 15);
  for (int turn = 0; turn < turns; turn++) {
#pragma unroll
    for (int j = 0; j < 8; j++)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  float sum = 0;
  for (int j = 0; j < 8; j++)
    for (int i = 0; i < 4; i++) sum += c[j][i];
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

static double mma_sync_rate(int multiprocessors) {
  const int blocks = 2 * multiprocessors, threads = 256, turns = 20000;
  float* sums;
  need(cudaMalloc(&sums, sizeof(float) * blocks * threads), "allocating");
  const double seconds = seconds_of([&] { products<<<blocks, threads>>>(sums, turns); }, 6);
  need(cudaGetLastError(), "launching products");
  cudaFree(sums);
  return 2.0 * 16 * 8 * 16 * 8 * turns * (threads / 32) * blocks / seconds;
}

static double copy_bandwidth(size_t bytes) {
  char *from, *to;
  need(cudaMalloc(&from, bytes), "allocating");
  need(cudaMalloc(&to, bytes), "allocating");
  need(cudaMemset(from, 1, bytes), "filling");
  const double seconds = seconds_of([&] { cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice); });
  cudaFree(from);
  cudaFree(to);
  return 2.0 * bytes / seconds;
}

static double read_bandwidth(size_t bytes, int multiprocessors) {
  uint4* from;
  uint32_t* sums;
  need(cudaMalloc(&from, bytes), "allocating");
  need(cudaMalloc(&sums, 4), "allocating");
  need(cudaMemset(from, 1, bytes), "filling");
  const double seconds = seconds_of([&] { reads<<<8 * multiprocessors, 256>>>(from, bytes / 16, sums); });
  need(cudaGetLastError(), "launching reads");
  cudaFree(from);
  cudaFree(sums);
  return bytes / seconds;
}

static double link_rate(size_t bytes, cudaMemcpyKind kind) {
  char *host, *device;
  need(cudaMallocHost(&host, bytes), "allocating pinned memory");
  need(cudaMalloc(&device, bytes), "allocating");
  const bool in = kind == cudaMemcpyHostToDevice;
  const double seconds = seconds_of([&] { cudaMemcpyAsync(in ? device : host, in ? host : device, bytes, kind); }, 5);
  cudaFreeHost(host);
  cudaFree(device);
  return bytes / seconds;
}

using Launch = void (*)(cudaStream_t);

// Seconds of one of many launches, from the host's clock.
static double launch_seconds(Launch launch, int count) {
  cudaStream_t stream;
  need(cudaStreamCreate(&stream), "making a stream");
  launch(stream);
  need(cudaStreamSynchronize(stream), "waiting");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; i++) launch(stream);
  need(cudaStreamSynchronize(stream), "waiting");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / count;
}

static double graph_launch_seconds(Launch launch, int count) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  need(cudaStreamCreate(&stream), "making a stream");
  need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  for (int i = 0; i < count; i++) launch(stream);
  need(cudaStreamEndCapture(stream, &graph), "capturing");
  need(cudaGraphInstantiate(&exec, graph, 0), "instantiating");
  double least = 1e30;
  for (int i = 0; i < 5; i++) {
    const auto start = std::chrono::steady_clock::now();
    need(cudaGraphLaunch(exec, stream), "launching a graph");
    need(cudaStreamSynchronize(stream), "waiting");
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least / count;
}

static void print(const char* name, double value) {
  printf("{\"%s\": %.6g}\n", name, value);
  fflush(stdout);
}

int main() {
  cudaDeviceProp device;
  need(cudaGetDeviceProperties(&device, 0), "opening the device");
  size_t free = 0, total = 0;
  need(cudaMemGetInfo(&free, &total), "reading the free memory");
  const size_t large = std::min<size_t>(size_t(4) << 30, free / 4), some = std::min<size_t>(size_t(1) << 30, free / 4);
  const int processors = device.multiProcessorCount;
  printf("{\"name\": \"%s\"}\n", device.name);
  print("multiprocessors", processors);
  print("l2Bytes", device.l2CacheSize);
  print("copyBandwidth", copy_bandwidth(large));
  print("readBandwidth", read_bandwidth(large, processors));
  print("launchSeconds", launch_seconds(launch_nothing, 1000));
  print("graphLaunchSeconds", graph_launch_seconds(launch_nothing, 1000));
  print("hostToDevice", link_rate(some, cudaMemcpyHostToDevice));
  print("deviceToHost", link_rate(some, cudaMemcpyDeviceToHost));
  print("mmaSyncRate", mma_sync_rate(processors));
  if (device.major < 9) return 0;
  print("dependentLaunchSeconds", launch_seconds(launch_dependent, 1000));
  print("dependentGraphLaunchSeconds", graph_launch_seconds(launch_dependent, 1000));
}
