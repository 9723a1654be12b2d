// Limits of a device, measured without Quern: copies, bf16 products by mma.sync (on Hopper wgmma is faster), the link to the host, launches. Prints one line
// of JSON. For each figure the best of several runs.
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

// Seconds of one of many launches, from the host's clock.
static double launch_seconds(int count) {
  nothing<<<1, 32>>>();
  need(cudaDeviceSynchronize(), "waiting");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; i++) nothing<<<1, 32>>>();
  need(cudaDeviceSynchronize(), "waiting");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / count;
}

static double graph_launch_seconds(int count) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  need(cudaStreamCreate(&stream), "making a stream");
  need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  for (int i = 0; i < count; i++) nothing<<<1, 32, 0, stream>>>();
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

int main() {
  cudaDeviceProp device;
  need(cudaGetDeviceProperties(&device, 0), "opening the device");
  size_t free = 0, total = 0;
  need(cudaMemGetInfo(&free, &total), "reading the free memory");
  const size_t large = std::min<size_t>(size_t(4) << 30, free / 4), some = std::min<size_t>(size_t(1) << 30, free / 4);
  const double copy = copy_bandwidth(large), rate = mma_sync_rate(device.multiProcessorCount);
  const double in = link_rate(some, cudaMemcpyHostToDevice), out = link_rate(some, cudaMemcpyDeviceToHost);
  const double launch = launch_seconds(1000), graph = graph_launch_seconds(1000);
  printf("{\"name\": \"%s\", \"multiprocessors\": %d, \"l2Bytes\": %d, \"copyBandwidth\": %.0f, \"mmaSyncRate\": %.0f, \"hostToDevice\": %.0f, "
         "\"deviceToHost\": %.0f, \"launchSeconds\": %.3e, \"graphLaunchSeconds\": %.3e}\n",
         device.name, device.multiProcessorCount, device.l2CacheSize, copy, rate, in, out, launch, graph);
}
