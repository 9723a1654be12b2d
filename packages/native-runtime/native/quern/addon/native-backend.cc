#include "quern/addon/native-backend.h"

#include <string.h>

#include <atomic>
#include <utility>

#include "quern/addon/arguments.h"
#include "quern/addon/given-weight.h"
#include "quern/addon/properties.h"
#include "quern/chain.h"

namespace quern {

static constexpr napi_type_tag type_tag = {0x51c7a1d09b6e4f32, 0xa8e05d3c7f1b2964};

// A decoded plan, with the memory bound to it. Made and destroyed on the JavaScript thread, decoded on the driver's thread.
struct NativeBackend::Captured {
  explicit Captured(std::unique_ptr<PlanIo> given) : io(std::move(given)) {}

  void decode(Driver& driver) {
    plan = std::make_unique<Plan>(io->take_words(), io->host(), driver.buffers, driver.weights);
    times = io->times_of(plan->ops().size());
    if (!io->chain().empty()) chain.emplace(io->chain(), io->host(), io->results(), io->counts());
    driver.device->prepare(*plan);
  }

  const std::unique_ptr<PlanIo> io;
  std::unique_ptr<Plan> plan;
  double* times = nullptr;
  std::optional<Chain> chain;
};

// Arguments of one run of a captured plan.
struct NativeBackend::Replay : Progress {
  Replay(std::shared_ptr<Captured> captured, std::vector<ByteRange> dirty) : captured(std::move(captured)), dirty(std::move(dirty)) {}

  const std::shared_ptr<Captured> captured;
  const std::vector<ByteRange> dirty;
  std::optional<LentWords> limits = {};
  std::vector<int32_t> stops = {};
  Napi::FunctionReference on_replays;  // empty: nobody listens
  std::atomic<size_t> done = 0;        // replays of the chain whose results are there

  Run run() const { return {captured->io->control(), captured->io->fault(), captured->times, dirty}; }

  void tell(Napi::Env env) override {
    const size_t now = done.load(std::memory_order_acquire);
    captured->io->copy_replays(std::exchange(told_, now), now);
    on_replays.Call({Napi::Number::New(env, static_cast<double>(now))});
  }

 private:
  size_t told_ = 0;
};

Napi::Function NativeBackend::define(Napi::Env env) {
  return DefineClass(env, "NativeBackend",
                     {
                         InstanceMethod("profile", &NativeBackend::guarded<&NativeBackend::profile>),
                         InstanceMethod("ceilings", &NativeBackend::guarded<&NativeBackend::ceilings>),
                         InstanceMethod("unmeasuredRates", &NativeBackend::guarded<&NativeBackend::unmeasured_rates>),
                         InstanceMethod("hasUnifiedMemory", &NativeBackend::guarded<&NativeBackend::has_unified_memory>),
                         InstanceMethod("freeMemory", &NativeBackend::guarded<&NativeBackend::free_memory>),
                         InstanceMethod("allocate", &NativeBackend::guarded<&NativeBackend::allocate>),
                         InstanceMethod("free", &NativeBackend::guarded<&NativeBackend::free>),
                         InstanceMethod("write", &NativeBackend::guarded<&NativeBackend::write>),
                         InstanceMethod("read", &NativeBackend::guarded<&NativeBackend::read>),
                         InstanceMethod("hostMemory", &NativeBackend::guarded<&NativeBackend::host_memory>),
                         InstanceMethod("give", &NativeBackend::guarded<&NativeBackend::give>),
                         InstanceMethod("giveBytes", &NativeBackend::guarded<&NativeBackend::give_bytes>),
                         InstanceMethod("takeBack", &NativeBackend::guarded<&NativeBackend::take_back>),
                         InstanceMethod("loadWeight", &NativeBackend::guarded<&NativeBackend::load_weight>),
                         InstanceMethod("loadGptq", &NativeBackend::guarded<&NativeBackend::load_gptq>),
                         InstanceMethod("freeWeight", &NativeBackend::guarded<&NativeBackend::free_weight>),
                         InstanceMethod("execute", &NativeBackend::guarded<&NativeBackend::execute>),
                         InstanceMethod("capture", &NativeBackend::guarded<&NativeBackend::capture>),
                         InstanceMethod("replay", &NativeBackend::guarded<&NativeBackend::replay>),
                         InstanceMethod("replayChain", &NativeBackend::guarded<&NativeBackend::replay_chain>),
                         InstanceMethod("release", &NativeBackend::guarded<&NativeBackend::release>),
                         InstanceMethod("kernelRuns", &NativeBackend::guarded<&NativeBackend::kernel_runs>),
                         InstanceMethod("dispose", &NativeBackend::dispose),
                     });
}

NativeBackend::NativeBackend(const Info& info) : ObjectWrap(info) {
  if (!info[1].IsFunction()) throw Napi::TypeError::New(info.Env(), "makeError must be a function");
  settler_ = std::make_unique<Settler>(info.Env(), info[1].As<Napi::Function>());
  const auto failure = attempt([&] { driver_ = std::make_unique<Driver>(make_device(Options(to_properties(info[0], "options")))); });
  if (failure) throw Napi::Error(info.Env(), settler_->make_error(*failure));
  napi_type_tag_object(info.Env(), info.This(), &type_tag);
  napi_add_env_cleanup_hook(info.Env(), on_environment_ends, this);
}

// Only an idle backend is collected. It may still have a driver: `dispose` was never called.
NativeBackend::~NativeBackend() {
  if (driver_) napi_remove_env_cleanup_hook(Env(), on_environment_ends, this);
}

NativeBackend* NativeBackend::Unwrap(Napi::Object object) {
  bool ours = false;
  if (napi_check_object_type_tag(object.Env(), object, &type_tag, &ours) != napi_ok || !ours)
    throw Napi::TypeError::New(object.Env(), "the method belongs to a NativeBackend, and was called on something else");
  return ObjectWrap::Unwrap(object);
}

// The process or worker ends without `dispose`: first end the backend's threads.
void NativeBackend::on_environment_ends(void* self) {
  auto* backend = static_cast<NativeBackend*>(self);
  backend->settle_all(false);
  backend->settler_.reset();
}

// Finishes all work of the driver. Then frees, in this order: memory lent by JavaScript, the device.
void NativeBackend::settle_all(bool may_run_code) {
  const auto driver = std::move(driver_);
  driver->stop();
  if (may_run_code) settler_->settle();
  else settler_->discard();
  captured_.clear();
  settler_->close();
}

template <Napi::Value (NativeBackend::*method)(const Napi::CallbackInfo&)>
Napi::Value NativeBackend::guarded(const Info& info) {
  Napi::Value result = info.Env().Undefined();
  const auto failure = attempt([&] {
    alive();
    result = (this->*method)(info);
  });
  if (failure) throw Napi::Error(info.Env(), settler_->make_error(*failure));
  return result;
}

Driver& NativeBackend::alive() const {
  if (!driver_) fail(Code::disposed, "the backend has been disposed");
  return *driver_;
}

template <class Work>
Napi::Value NativeBackend::submit(std::shared_ptr<void> keeps, Work work) {
  Driver& driver = alive();
  auto pending = std::make_unique<Pending>(Value());
  const Napi::Value promise = pending->deferred.Promise();
  pending->keeps = std::move(keeps);
  // The queue copies its tasks. A copy must not be the last owner of JavaScript memory: hence the bare pointer.
  driver.queue.post([settler = settler_.get(), &driver, work = std::move(work), raw = pending.get()] {
    std::unique_ptr<Pending> owned(raw);
    owned->failure = attempt([&] {
      driver.need_running(); // `dispose` was called: tasks still in the queue do not begin
      work(driver, *owned);
    });
    settler->finish(std::move(owned));
  });
  pending.release();
  settler_->begin();
  return promise;
}

Napi::Value NativeBackend::profile(const Info&) {
  return submit(nullptr, [](Driver& driver, Pending& pending) {
    pending.result = [profile = driver.device->profile()](Napi::Env env) { return to_object(env, profile); };
  });
}

Napi::Value NativeBackend::ceilings(const Info&) {
  return submit(nullptr, [](Driver& driver, Pending& pending) {
    pending.result = [ceilings = driver.device->ceilings()](Napi::Env env) { return to_object(env, ceilings); };
  });
}

Napi::Value NativeBackend::unmeasured_rates(const Info& info) {
  const bool rests = settler_->idle_time() >= std::chrono::seconds(1) && alive().device->has_run();
  return Napi::String::New(info.Env(), rests ? alive().device->unmeasured_rates() : "");
}

Napi::Value NativeBackend::has_unified_memory(const Info& info) {
  return Napi::Boolean::New(info.Env(), alive().device->has_unified_memory());
}

Napi::Value NativeBackend::free_memory(const Info& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(alive().device->free_memory()));
}

Napi::Value NativeBackend::allocate(const Info& info) {
  const uint64_t bytes = to_bytes(info[0], "byteLength");
  return Napi::Number::New(info.Env(), alive().buffers.add(alive().device->allocate(bytes)));
}

Napi::Value NativeBackend::free(const Info& info) {
  const int32_t id = to_id(info[0], "buffer");
  alive().buffers.remove(id);
  return info.Env().Undefined();
}

Napi::Value NativeBackend::host_memory(const Info& info) {
  const uint64_t bytes = to_bytes(info[0], "byteLength");
  return host_pages_->show(info.Env(), alive().device->allocate_host(bytes));
}

static void need_inside(uint64_t offset, uint64_t length, uint64_t bytes) {
  if (length > bytes || offset > bytes - length)
    fail(Code::bad_argument, "bytes %llu to %llu are outside the buffer's %llu", static_cast<unsigned long long>(offset),
         static_cast<unsigned long long>(offset + length), static_cast<unsigned long long>(bytes));
}

// The object with id info[0]. Throws BAD_ARGUMENT if `length` bytes from `offset` are outside the object.
template <class T>
static std::shared_ptr<T> find_place(const HandleTable<T>& table, int32_t id, uint64_t offset, size_t length) {
  auto found = table.find(id);
  if (!found) fail(Code::bad_argument, "there is no buffer %d", id);
  need_inside(offset, length, found->bytes());
  return found;
}

// Unified memory: written at once. Other memory: written by a task in the queue, from a copy.
Napi::Value NativeBackend::write(const Info& info) {
  const auto bytes = to_byte_span(info[2], "bytes");
  const int32_t id = to_id(info[0], "buffer");
  const uint64_t offset = to_bytes(info[1], "byteOffset");
  auto buffer = find_place(alive().buffers, id, offset, bytes.size());
  Device& device = *alive().device;
  if (!device.has_unified_memory())
    return submit(nullptr, [buffer, offset, copy = std::vector<uint8_t>(bytes.begin(), bytes.end())](Driver& driver, Pending&) {
      driver.device->write(*buffer, offset, copy);
    });
  device.write(*buffer, offset, bytes);
  return info.Env().Undefined();
}

Napi::Value NativeBackend::read(const Info& info) {
  const auto bytes = to_byte_span(info[2], "bytes");
  const int32_t id = to_id(info[0], "buffer");
  const uint64_t offset = to_bytes(info[1], "byteOffset");
  auto buffer = find_place(alive().buffers, id, offset, bytes.size());
  Device& device = *alive().device;
  if (!device.has_unified_memory()) {
    auto lent = std::make_shared<LentArray<uint8_t>>(info[2], "bytes", bytes);
    return submit(lent, [buffer, offset, lent = lent.get()](Driver& driver, Pending& pending) {
      driver.device->read(*buffer, offset, lent->own());
      pending.result = [lent](Napi::Env env) {
        lent->copy_out();
        return env.Undefined();
      };
    });
  }
  device.read(*buffer, offset, bytes);
  return info.Env().Undefined();
}

Napi::Value NativeBackend::give(const Info& info) {
  auto pages = std::make_shared<const Pages>(to_bytes(info[0], "byteLength"));
  return Napi::Number::New(info.Env(), alive().given.add(std::move(pages)));
}

Napi::Value NativeBackend::give_bytes(const Info& info) {
  const auto bytes = to_byte_span(info[2], "bytes");
  const int32_t id = to_id(info[0], "given bytes");
  const uint64_t offset = to_bytes(info[1], "byteOffset");
  const auto pages = find_place(alive().given, id, offset, bytes.size());
  if (!bytes.empty()) memcpy(pages->data() + offset, bytes.data(), bytes.size());
  return info.Env().Undefined();
}

Napi::Value NativeBackend::take_back(const Info& info) {
  const int32_t id = to_id(info[0], "given bytes");
  alive().given.remove(id);
  return info.Env().Undefined();
}

// The value of the promise for a weight.
static Napi::Object handle_of(Napi::Env env, int32_t id, uint64_t bytes) {
  Napi::Object handle = Napi::Object::New(env);
  handle["id"] = id;
  handle["byteLength"] = static_cast<double>(bytes);
  return handle;
}

Napi::Value NativeBackend::load_weight(const Info& info) {
  const auto given = to_given_weight(info);
  return submit(nullptr, [source = given.source(alive())](Driver& driver, Pending& pending) {
    const auto weight = driver.device->load_weight(source);
    const int32_t id = driver.weights.add(weight);
    pending.result = [id, bytes = weight->byte_length()](Napi::Env env) { return handle_of(env, id, bytes); };
  });
}

Napi::Value NativeBackend::load_gptq(const Info& info) {
  const auto given = to_given_gptq(info);
  return submit(nullptr, [source = given.source(alive())](Driver& driver, Pending& pending) {
    const auto [weight, format] = driver.device->load_gptq(source);
    const int32_t id = driver.weights.add(weight);
    pending.result = [id, bytes = weight->byte_length(), format = format](Napi::Env env) {
      Napi::Object handle = handle_of(env, id, bytes);
      handle["format"] = format;
      return handle;
    };
  });
}

Napi::Value NativeBackend::free_weight(const Info& info) {
  const int32_t id = to_id(info[0], "weight");
  alive().weights.remove(id);
  return info.Env().Undefined();
}

// Copies the results of a run to JavaScript when the promise settles.
template <class Result>
static auto delivers(PlanIo* io, Result result) {
  return [io, result](Napi::Env env) {
    io->copy_out();
    return result(env);
  };
}

static Napi::Value nothing(Napi::Env env) { return env.Undefined(); }

Napi::Value NativeBackend::execute(const Info& info) {
  auto io = std::make_shared<PlanIo>(info, *host_pages_);
  io->copy_in();
  return submit(io, [io = io.get()](Driver& driver, Pending& pending) {
    Plan plan(io->take_words(), io->host(), driver.buffers, driver.weights);
    const ByteRange all = {0, io->host().inputs_bytes};
    run_plan(*driver.device, plan, {io->control(), io->fault(), io->times_of(plan.ops().size()), {&all, 1}});
    pending.result = delivers(io, nothing);
  });
}

Napi::Value NativeBackend::capture(const Info& info) {
  auto kept = std::make_shared<Captured>(std::make_unique<PlanIo>(info, *host_pages_));
  return submit(kept, [this, raw = kept.get()](Driver& driver, Pending& pending) {
    raw->decode(driver);
    pending.result = [this, &pending](Napi::Env env) -> Napi::Value {
      captured_.emplace(next_captured_, std::static_pointer_cast<Captured>(pending.keeps));
      return Napi::Number::New(env, next_captured_++);
    };
  });
}

// [from, to, from, to, …] within `bytes`; undefined: all of `bytes`.
static std::vector<ByteRange> to_dirty(const Napi::Value& value, uint64_t bytes) {
  if (value.IsUndefined()) return {{0, bytes}};
  const auto numbers = to_double_span(value, "dirty");
  std::vector<ByteRange> dirty;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    if (!(numbers[i] >= 0 && numbers[i] <= numbers[i + 1] && numbers[i + 1] <= static_cast<double>(bytes)))
      fail(Code::bad_argument, "dirty has bytes %g to %g of %llu", numbers[i], numbers[i + 1], static_cast<unsigned long long>(bytes));
    dirty.push_back({static_cast<uint64_t>(numbers[i]), static_cast<uint64_t>(numbers[i + 1])});
  }
  return dirty;
}

std::shared_ptr<NativeBackend::Replay> NativeBackend::replay_of(const Info& info, size_t dirty) const {
  const int32_t id = to_id(info[0], "captured plan");
  const auto found = captured_.find(id);
  if (found == captured_.end()) fail(Code::disposed, "there is no captured plan %d", id);
  PlanIo& io = *found->second->io;
  io.copy_in();
  return std::make_shared<Replay>(found->second, to_dirty(info[dirty], io.host().inputs_bytes));
}

Napi::Value NativeBackend::replay(const Info& info) {
  const auto kept = replay_of(info, 1);
  return submit(kept, [raw = kept.get()](Driver& driver, Pending& pending) {
    run_plan(*driver.device, *raw->captured->plan, raw->run());
    pending.result = delivers(raw->captured->io.get(), nothing);
  });
}

// Tells the listener of the chain that is `pending`.
std::function<void(int64_t)> NativeBackend::reporting(Settler& settler, const Pending& pending) {
  return [&settler, &pending](int64_t done) {
    auto replay = std::static_pointer_cast<Replay>(pending.keeps);
    replay->done.store(static_cast<size_t>(done), std::memory_order_release);
    settler.report(std::move(replay));
  };
}

Napi::Value NativeBackend::replay_chain(const Info& info) {
  const auto words = to_word_span(info[2], "stops");
  std::vector<int32_t> stops(words.begin(), words.end());
  const auto kept = replay_of(info, 3);
  if (!kept->captured->chain) fail(Code::bad_argument, "the plan was captured without a chain");
  kept->limits.emplace(info[1], "limits", *host_pages_, 1);
  if (static_cast<int64_t>(kept->limits->count()) != kept->captured->chain->rows())
    fail(Code::bad_argument, "limits must have a word for each row of the chain");
  kept->stops = std::move(stops);
  if (info[4].IsFunction()) kept->on_replays = Napi::Persistent(info[4].As<Napi::Function>());
  return submit(kept, [raw = kept.get(), settler = settler_.get()](Driver& driver, Pending& pending) {
    Captured& captured = *raw->captured;
    captured.chain->listen(raw->on_replays.IsEmpty() ? nullptr : reporting(*settler, pending));
    const ChainRun run = {raw->run(), raw->limits->data(), raw->stops};
    const int64_t done = driver.device->run_chain(*captured.plan, *captured.chain, run);
    pending.result =
        delivers(captured.io.get(), [done](Napi::Env env) { return Napi::Number::New(env, static_cast<double>(done)); });
  });
}

Napi::Value NativeBackend::release(const Info& info) {
  captured_.erase(to_id(info[0], "captured plan"));
  return info.Env().Undefined();
}

Napi::Value NativeBackend::kernel_runs(const Info& info) {
  Napi::Object counts = Napi::Object::New(info.Env());
  for (size_t i = 0; i < std::size(op_table); i++) counts[op_table[i].name] = static_cast<double>(alive().device->runs(i));
  return counts;
}

Napi::Value NativeBackend::dispose(const Info& info) {
  if (!driver_) return info.Env().Undefined();
  napi_remove_env_cleanup_hook(Env(), on_environment_ends, this);
  settle_all(true);
  return info.Env().Undefined();
}

} // namespace quern
