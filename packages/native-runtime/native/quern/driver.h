// A device with the tables of what JavaScript holds of it, and the thread that its work runs on.
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
  // Aborts what runs, begins nothing that waits, and ends the thread.
  void stop() {
    stopped_ = true;
    device->cancel();
    queue.stop();
  }
  // Throws ABORTED once the driver has been stopped.
  void need_running() const {
    if (stopped_) fail(Code::aborted, "the backend was disposed before its work was done");
  }

  // Of buffers, weights and prepared plans the device is destroyed last.
  const std::unique_ptr<Device> device;
  BufferTable buffers;
  WeightTable weights;
  HandleTable<const Pages> given; // bytes of weights that JavaScript had in memory
  TaskQueue queue;

 private:
  std::atomic<bool> stopped_{false};
};

} // namespace quern
