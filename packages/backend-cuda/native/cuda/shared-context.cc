#include "cuda/shared-context.h"

#include <map>
#include <mutex>

#include "cuda/kernels-image.h"
#include "quern/failure.h"

namespace quern::cuda {

std::shared_ptr<SharedContext> SharedContext::of(const Driver& driver, DeviceIndex device) {
  static std::mutex mutex;
  static auto& contexts = *new std::map<std::pair<const Driver*, DeviceIndex>, std::weak_ptr<SharedContext>>; // outlives all backends
  const std::lock_guard lock(mutex);
  std::weak_ptr<SharedContext>& known = contexts[{&driver, device}];
  if (auto context = known.lock(); context && context->serves()) return context;
  auto made = std::make_shared<SharedContext>(driver, device);
  known = made;
  return made;
}

SharedContext::SharedContext(const Driver& driver, DeviceIndex device) : driver_(driver), process_(getpid()) {
  driver_.need(driver_.context_create(&context, context_blocks, device), "making a context");
  const Result loaded = driver_.module_load(&module, kernels_image);
  Context made = nullptr; // making a context has put it on this thread, which may have another one of somebody else
  driver_.context_pop(&made);
  if (loaded == 0) return;
  driver_.context_destroy(context);
  if (!kernels_image) quern::fail(Code::unsupported, "this addon was built without nvcc: it has no kernels for GPUs");
  driver_.need(loaded, "loading the kernels");
}

SharedContext::~SharedContext() {
  if (!kept_ && getpid() == process_) driver_.context_destroy(context);
}

} // namespace quern::cuda
