// Metal's classes on the emulated device: copies and launches arrive late, and each misuse is reported.
#include <string.h>

#include "dialect/host.h"
#include "emulated/metal/objects.h"
#include "metal/strings.h"
#include "test/check.h"

extern "C" {
quern::metal::Class objc_getClass(const char* name);
quern::metal::Selector sel_registerName(const char* name);
quern::metal::Class object_getClass(quern::metal::Object object);
void (*class_getMethodImplementation(quern::metal::Class, quern::metal::Selector))();
quern::metal::Object objc_retain(quern::metal::Object object);
void objc_release(quern::metal::Object object);
void* objc_autoreleasePoolPush();
void objc_autoreleasePoolPop(void* pool);
quern::metal::Object MTLCopyAllDevices();
}

// The functions of this program.
const quern::metal::Runtime& quern::metal::Runtime::get() {
  static const Runtime runtime{objc_getClass,  sel_registerName,         object_getClass,         class_getMethodImplementation, objc_retain,
                               objc_release,   objc_autoreleasePoolPush, objc_autoreleasePoolPop, MTLCopyAllDevices};
  return runtime;
}

namespace quern::gpu {
namespace {

using namespace metal;

struct Doubled {
  Global<float> y; // [n]
  int n;
};
KERNEL(doubled, Doubled) {
  for (int i = thread_index(); i < args.n; i += block_threads()) args.y[i] = args.y[i] * 2;
}

constexpr int n = 64;
constexpr Natural bytes = n * sizeof(float);

// A device, a queue whose work sees `data`, a pipeline of `doubled`.
struct Session {
  const Pool pool;
  const Owned devices{MTLCopyAllDevices()};
  const Object device = object_at(devices.get(), 0);
  const Owned queue{new_queue(device)}, fence{new_fence(device)}, data{new_buffer(device, bytes, storage_shared_untracked)},
      host{new_buffer(device, bytes, storage_shared_untracked)};
  const Owned residents{new_residency_set(device, nullptr, nullptr)};
  Owned pipeline;

  explicit Session(bool resident = true) {
    if (resident) add_allocation(residents.get(), data.get());
    commit(residents.get());
    add_residency_set(queue.get(), residents.get());
    Object error = nullptr;
    const Owned library(new_library(device, string_of("#define WANTS_doubled 0, MADE_\n"), nullptr, &error));
    const Owned function(new_function(library.get(), string_of("doubled")));
    const Owned descriptor = made("MTLComputePipelineDescriptor");
    set_function(descriptor.get(), function.get());
    pipeline = Owned(new_pipeline(device, descriptor.get(), no_pipeline_options, nullptr, &error));
    for (int i = 0; i < n; i++) values()[i] = float(i);
  }
  float* values() const { return static_cast<float*>(contents(host.get())); }

  void copy(Object work, bool in, bool waits = true, bool updates = true) const {
    const Object encoder = blit_encoder(work);
    if (waits) wait_for_fence(encoder, fence.get());
    if (in) copy_buffer(encoder, host.get(), 0, data.get(), 0, bytes);
    else copy_buffer(encoder, data.get(), 0, host.get(), 0, bytes);
    if (updates) update_fence(encoder, fence.get());
    end_encoding(encoder);
  }
  void launch(Object work, Natural args_bytes = sizeof(Doubled), Natural threads = 32) const {
    const Object encoder = compute_encoder(work);
    wait_for_fence(encoder, fence.get());
    const Doubled args{Global(reinterpret_cast<float*>(gpu_address(data.get()))), n};
    set_pipeline(encoder, pipeline.get());
    set_bytes(encoder, &args, args_bytes, 0);
    dispatch(encoder, {1, 1, 1}, {threads, 1, 1});
    update_fence(encoder, fence.get());
    end_encoding(encoder);
  }
};

// The failure of a command buffer that was committed.
std::string failure_of(Object work) {
  wait_completed(work);
  return status_of(work) == status_error ? told(error_of(work)) : "";
}

void work_is_late() {
  const Session session;
  const Object work = command_buffer(session.queue.get());
  session.copy(work, true);
  session.launch(work);
  session.copy(work, false);
  commit(work);
  check(session.values()[5] == 5, "nothing ran at commit");
  check(failure_of(work).empty() && session.values()[5] == 10, "copied in, doubled, copied out");
  const Object polled = command_buffer(session.queue.get());
  session.launch(polled);
  commit(polled);
  int polls = 0;
  while (status_of(polled) < status_completed) polls++;
  check(polls == 2, "a poll ends it, not the first one");
}

// What `act` encodes makes the command buffer fail with `part`, or throws it.
template <class F>
void is_reported(const char* part, const F& act, bool resident = true) {
  std::string message;
  try {
    const Session session(resident);
    const Object work = command_buffer(session.queue.get());
    act(session, work);
    commit(work);
    message = failure_of(work);
  } catch (const Fault& fault) {
    message = fault.what();
  }
  check(message.find(part) != std::string::npos, "expected '%s', got '%s'", part, message.c_str());
}

void misuse_is_reported() {
  is_reported("does not wait for a fence", [](const Session& session, Object work) {
    session.copy(work, true);
    session.copy(work, false, false);
  });
  is_reported("does not wait for a fence", [](const Session& session, Object work) {
    session.copy(work, true, true, false);
    session.copy(work, false);
  });
  is_reported("no committed residency set", [](const Session& session, Object work) { session.copy(work, true), session.launch(work); }, false);
  is_reported("takes an argument of", [](const Session& session, Object work) { session.launch(work, sizeof(Doubled) - 8); });
  is_reported("or 2048 threads", [](const Session& session, Object work) { session.launch(work, sizeof(Doubled), 2048); });
  is_reported("never written", [](const Session& session, Object work) { session.launch(work); });
  is_reported("before endEncoding", [](const Session&, Object work) { blit_encoder(work); });
  is_reported("second encoder", [](const Session&, Object work) { blit_encoder(work), compute_encoder(work); });
  is_reported("after endEncoding", [](const Session& session, Object work) {
    const Object encoder = blit_encoder(work);
    end_encoding(encoder);
    fill_buffer(encoder, session.data.get(), {0, bytes}, 0);
  });
  is_reported("of a buffer of", [](const Session& session, Object work) { fill_buffer(blit_encoder(work), session.data.get(), {8, bytes}, 0); });
  is_reported("committed twice", [](const Session&, Object work) { commit(work); });
  is_reported("has no method UTF8String", [](const Session& session, Object) { utf8_string(session.queue.get()); });
  is_reported("was released", [](const Session& session, Object) {
    const Object buffer = new_buffer(session.device, bytes, storage_shared_untracked);
    objc_release(buffer);
    objc_release(buffer);
  });
}

void leaks_are_reported() {
  try {
    Owned queue;
    {
      const Pool pool;
      const Owned devices(MTLCopyAllDevices());
      queue = Owned(new_queue(object_at(devices.get(), 0)));
    }
    command_buffer(queue.get());
    check(false, "an autoreleased object without a pool");
  } catch (const Fault& fault) {
    check(strstr(fault.what(), "without a pool"), "%s", fault.what());
  }
}

void failures_stay() {
  const Session session;
  const Object work = command_buffer(session.queue.get()), next = command_buffer(session.queue.get());
  session.launch(work);
  session.copy(next, true);
  commit(work);
  commit(next);
  check(failure_of(next) == failure_of(work) && !failure_of(work).empty(), "work behind a failure fails too");
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  work_is_late();
  misuse_is_reported();
  leaks_are_reported();
  failures_stay();
  return report("Metal's classes");
}
