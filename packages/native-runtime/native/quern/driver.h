// A device, tables of the objects that JavaScript names, and the thread of the device's work.
#pragma once
#include <atomic>
#include <memory>

#include "quern/device.h"
#include "quern/failure.h"
#include "quern/task-queue.h"

namespace quern {

class Driver {
 public:
  explicit Driver(std::unique_ptr<Device> device) : device(std::move(device)), queue(this->device->name()) {}
  ~Driver() { stop(); }
  // Aborts the current task, rejects waiting tasks with ABORTED, ends the thread.
  void stop() {
    stopped_ = true;
    device->cancel();
    queue.stop();
  }
  // Throws ABORTED after `stop`.
  void need_running() const {
    if (stopped_) fail(Code::aborted, "the backend was disposed before its work was done");
  }

  // Declared first, so destroyed after buffers, weights and prepared plans.
  const std::unique_ptr<Device> device;
  BufferTable buffers;
  WeightTable weights;
  HandleTable<const Pages> given; // bytes of weights from JavaScript memory
  TaskQueue queue;

 private:
  std::atomic<bool> stopped_{false};
};

} // namespace quern
