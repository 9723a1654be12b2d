// The whole backend but for Node: threads, memory, weights, and the queue that plans and loads pass through.
#pragma once
#include <string>

#include "runtime/executor.h"
#include "quern/mapped-file.h"
#include "runtime/profile.h"
#include "quern/task-queue.h"
#include "runtime/thread-pool.h"
#include "weights/weight.h"

namespace quern {

class Backend {
 public:
  // threads 0: as default_threads() says; isa empty: the best this machine has. Throws BAD_ARGUMENT or UNSUPPORTED.
  Backend(int threads, const std::string& isa);
  // Aborts what runs and joins every thread.
  ~Backend() { pool.cancel(); }

  const Kernels& kernels;
  ThreadPool pool;
  BufferTable buffers;
  WeightTable weights;
  FileMap files;
  Executor executor;
  TaskQueue queue; // the last member: its thread ends before anything that it uses
};

} // namespace quern
