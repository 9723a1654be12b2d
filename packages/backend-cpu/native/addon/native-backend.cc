#include "addon/native-backend.h"

#include <string.h>

#include "quern/addon/arguments.h"
#include "quern/addon/given-weight.h"
#include "runtime/call.h"
#include "runtime/ceilings.h"
#include "quern/chain.h"
#include "runtime/cpu-features.h"
#include "quern/machine.h"
#include "weights/load-weight.h"

namespace quern {

static constexpr napi_type_tag type_tag = {0x51c7a1d09b6e4f32, 0xa8e05d3c7f1b2964};

// A plan decoded once, with the memory it is bound to.
struct NativeBackend::Captured {
  Captured(std::unique_ptr<PlanIo> given, const Backend& backend)
      : io(std::move(given)), plan(io->take_words(), io->host(), backend.buffers, backend.weights),
        times(io->times_of(plan.ops().size())) {
    if (!io->chain().empty()) chain.emplace(io->chain(), io->host(), io->results());
  }
  std::unique_ptr<PlanIo> io;
  Plan plan;
  double* times;
  std::optional<Chain> chain;
};

Napi::Function NativeBackend::define(Napi::Env env) {
  return DefineClass(env, "NativeBackend",
                     {
                         InstanceMethod("profile", &NativeBackend::guarded<&NativeBackend::profile>),
                         InstanceMethod("ceilings", &NativeBackend::guarded<&NativeBackend::ceilings>),
                         InstanceMethod("freeMemory", &NativeBackend::guarded<&NativeBackend::free_memory>),
                         InstanceMethod("allocate", &NativeBackend::guarded<&NativeBackend::allocate>),
                         InstanceMethod("free", &NativeBackend::guarded<&NativeBackend::free>),
                         InstanceMethod("write", &NativeBackend::guarded<&NativeBackend::write>),
                         InstanceMethod("read", &NativeBackend::guarded<&NativeBackend::read>),
                         InstanceMethod("hostMemory", &NativeBackend::guarded<&NativeBackend::host_memory>),
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
  if (!info[2].IsFunction()) throw Napi::TypeError::New(info.Env(), "makeError must be a function");
  settler_ = std::make_unique<Settler>(info.Env(), info[2].As<Napi::Function>());
  const auto failure = attempt([&] {
    const auto threads = static_cast<int>(to_integer(info[0], "threads", 0, INT32_MAX));
    backend_ = std::make_unique<Backend>(threads, to_text(info[1], "isa"));
  });
  if (failure) throw Napi::Error(info.Env(), settler_->make_error(*failure));
  napi_type_tag_object(info.Env(), info.This(), &type_tag);
  napi_add_env_cleanup_hook(info.Env(), on_environment_ends, this);
}

// Collected without dispose, or disposed before: only an idle backend is ever collected.
NativeBackend::~NativeBackend() {
  if (backend_) napi_remove_env_cleanup_hook(Env(), on_environment_ends, this);
}

NativeBackend* NativeBackend::Unwrap(Napi::Object object) {
  bool ours = false;
  if (napi_check_object_type_tag(object.Env(), object, &type_tag, &ours) != napi_ok || !ours)
    throw Napi::TypeError::New(object.Env(), "the method belongs to a NativeBackend, and was called on something else");
  return ObjectWrap::Unwrap(object);
}

// The process or worker ends with the backend undisposed: its threads must end first.
void NativeBackend::on_environment_ends(void* self) {
  auto* backend = static_cast<NativeBackend*>(self);
  backend->settle_all(false);
  backend->settler_.reset();
}

// Ends all threads, which leaves all work finished; then lets go of what JavaScript lent.
void NativeBackend::settle_all(bool may_run_code) {
  backend_.reset();
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

Backend& NativeBackend::alive() const {
  if (!backend_) fail(Code::disposed, "the backend has been disposed");
  return *backend_;
}

template <class Work>
Napi::Value NativeBackend::submit(std::shared_ptr<void> keeps, Work work) {
  Backend& backend = alive();
  auto pending = std::make_unique<Pending>(Value());
  const Napi::Value promise = pending->deferred.Promise();
  pending->keeps = std::move(keeps);
  // The queue copies its tasks, and a copy must not be the last to let go of JavaScript's memory: hence the bare pointer.
  backend.queue.post([settler = settler_.get(), &backend, work = std::move(work), raw = pending.get()] {
    std::unique_ptr<Pending> owned(raw);
    owned->failure = attempt([&] {
      backend.pool.need_running(); // what waits when the backend is disposed is not begun
      work(*owned);
    });
    settler->finish(std::move(owned));
  });
  pending.release();
  settler_->begin();
  return promise;
}

Napi::Value NativeBackend::profile(const Info&) {
  return submit(nullptr, [backend = &alive()](Pending& pending) {
    const Profile measured = measure_profile(backend->kernels, backend->pool);
    const std::string name = cpu_name(), isa = backend->kernels.name;
    const double total = static_cast<double>(memory_state().total);
    pending.result = [=, threads = backend->pool.threads()](Napi::Env env) {
      Napi::Object profile = Napi::Object::New(env);
      profile["name"] = name;
      profile["isa"] = isa;
      profile["threads"] = threads;
      profile["totalMemory"] = total;
      profile["readBandwidth"] = measured.read_bandwidth;
      profile["flops"] = measured.flops;
      profile["exactRows"] = static_cast<double>(exact_rows);
      return profile;
    };
  });
}

Napi::Value NativeBackend::ceilings(const Info&) {
  return submit(nullptr, [backend = &alive()](Pending& pending) {
    pending.result = [measured = measure_ceilings(backend->kernels, backend->pool)](Napi::Env env) {
      Napi::Object rates = Napi::Object::New(env), ceilings = Napi::Object::New(env);
      for (const auto& [name, rate] : measured.rates) rates[name] = rate;
      ceilings["readBandwidth"] = measured.read_bandwidth;
      ceilings["readBandwidthOneThread"] = measured.read_bandwidth_one_thread;
      ceilings["rates"] = rates;
      return ceilings;
    };
  });
}

Napi::Value NativeBackend::free_memory(const Info& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(memory_state().available));
}

Napi::Value NativeBackend::allocate(const Info& info) {
  auto pages = std::make_shared<const Pages>(to_bytes(info[0], "byteLength"));
  return Napi::Number::New(info.Env(), alive().buffers.add(std::move(pages)));
}

Napi::Value NativeBackend::free(const Info& info) {
  const int32_t id = to_id(info[0], "buffer");
  alive().buffers.remove(id);
  return info.Env().Undefined();
}

Napi::Value NativeBackend::host_memory(const Info& info) {
  return host_pages_->show(info.Env(), to_bytes(info[0], "byteLength"));
}

static std::shared_ptr<const Pages> need_buffer(const Backend& backend, int32_t id) {
  auto buffer = backend.buffers.find(id);
  if (!buffer) fail(Code::bad_argument, "there is no buffer %d", id);
  return buffer;
}

// The `length` bytes at info[1] of buffer info[0].
std::span<uint8_t> NativeBackend::slice(const Info& info, size_t length) {
  const int32_t id = to_id(info[0], "buffer");
  const uint64_t offset = to_bytes(info[1], "byteOffset");
  const auto buffer = need_buffer(alive(), id);
  if (length > buffer->bytes() || offset > buffer->bytes() - length)
    fail(Code::bad_argument, "bytes %llu to %llu are outside the buffer's %llu",
         static_cast<unsigned long long>(offset), static_cast<unsigned long long>(offset + length),
         static_cast<unsigned long long>(buffer->bytes()));
  return {buffer->data() + offset, length};
}

Napi::Value NativeBackend::write(const Info& info) {
  const auto bytes = to_byte_span(info[2], "bytes");
  const auto place = slice(info, bytes.size());
  if (!bytes.empty()) memcpy(place.data(), bytes.data(), bytes.size());
  return info.Env().Undefined();
}

Napi::Value NativeBackend::read(const Info& info) {
  const auto bytes = to_byte_span(info[2], "bytes");
  const auto place = slice(info, bytes.size());
  if (!bytes.empty()) memcpy(bytes.data(), place.data(), bytes.size());
  return info.Env().Undefined();
}

Napi::Value NativeBackend::load_weight(const Info& info) {
  const auto given = to_given_weight(info);
  WeightSource source = given.source(alive());
  return submit(nullptr, [backend = &alive(), source = std::move(source)](Pending& pending) {
    const auto weight = quern::load_weight(source, backend->files, backend->kernels, backend->pool);
    const int32_t id = backend->weights.add(weight);
    pending.result = [id, bytes = weight->byte_length()](Napi::Env env) {
      Napi::Object handle = Napi::Object::New(env);
      handle["id"] = id;
      handle["byteLength"] = static_cast<double>(bytes);
      return handle;
    };
  });
}

Napi::Value NativeBackend::load_gptq(const Info& info) {
  const auto given = to_given_gptq(info);
  GptqSource source = given.source(alive());
  return submit(nullptr, [backend = &alive(), source = std::move(source)](Pending& pending) {
    const auto weight = quern::load_gptq(source, backend->files, backend->kernels, backend->pool);
    const int32_t id = backend->weights.add(weight);
    pending.result = [id, bytes = weight->byte_length(), format = layout_of(weight->format()).name,
                      ordered = !weight->matrix().order().empty()](Napi::Env env) {
      Napi::Object handle = Napi::Object::New(env);
      handle["id"] = id;
      handle["byteLength"] = static_cast<double>(bytes);
      handle["format"] = format;
      handle["ordered"] = ordered;
      return handle;
    };
  });
}

Napi::Value NativeBackend::free_weight(const Info& info) {
  const int32_t id = to_id(info[0], "weight");
  alive().weights.remove(id);
  return info.Env().Undefined();
}

// What a run has written goes to JavaScript as the promise settles.
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
  return submit(io, [backend = &alive(), io = io.get()](Pending& pending) {
    Plan plan(io->take_words(), io->host(), backend->buffers, backend->weights);
    backend->executor.run(plan, io->control(), io->times_of(plan.ops().size()));
    pending.result = delivers(io, nothing);
  });
}

Napi::Value NativeBackend::capture(const Info& info) {
  auto io = std::make_unique<PlanIo>(info, *host_pages_);
  captured_.emplace(next_captured_, std::make_shared<Captured>(std::move(io), alive()));
  return Napi::Number::New(info.Env(), next_captured_++);
}

// The captured plan that an argument names, with what its memory holds now.
std::shared_ptr<NativeBackend::Captured> NativeBackend::captured(const Napi::Value& argument) const {
  const int32_t id = to_id(argument, "captured plan");
  const auto found = captured_.find(id);
  if (found == captured_.end()) fail(Code::disposed, "there is no captured plan %d", id);
  found->second->io->copy_in();
  return found->second;
}

Napi::Value NativeBackend::replay(const Info& info) {
  const auto kept = captured(info[0]);
  return submit(kept, [backend = &alive(), raw = kept.get()](Pending& pending) {
    backend->executor.run(raw->plan, raw->io->control(), raw->times);
    pending.result = delivers(raw->io.get(), nothing);
  });
}

Napi::Value NativeBackend::replay_chain(const Info& info) {
  const int64_t count = to_integer(info[1], "count", 1, INT32_MAX);
  const auto words = to_word_span(info[2], "stops");
  std::vector<int32_t> stops(words.begin(), words.end());
  const auto kept = captured(info[0]);
  if (!kept->chain) fail(Code::bad_argument, "the plan was captured without a chain");
  return submit(kept, [backend = &alive(), raw = kept.get(), count, stops = std::move(stops)](Pending& pending) {
    const int64_t done = raw->chain->run(
        count, stops, [&] { backend->executor.run(raw->plan, raw->io->control(), raw->times); });
    pending.result = delivers(
        raw->io.get(), [done](Napi::Env env) { return Napi::Number::New(env, static_cast<double>(done)); });
  });
}

Napi::Value NativeBackend::release(const Info& info) {
  captured_.erase(to_id(info[0], "captured plan"));
  return info.Env().Undefined();
}

Napi::Value NativeBackend::kernel_runs(const Info& info) {
  Napi::Object counts = Napi::Object::New(info.Env());
  for (size_t i = 0; i < std::size(op_table); i++)
    counts[op_table[i].name] = static_cast<double>(alive().executor.runs(i));
  return counts;
}

Napi::Value NativeBackend::dispose(const Info& info) {
  if (!backend_) return info.Env().Undefined();
  napi_remove_env_cleanup_hook(Env(), on_environment_ends, this);
  settle_all(true);
  return info.Env().Undefined();
}

} // namespace quern
