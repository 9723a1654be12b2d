#include "addon/native-backend.h"

#include <string.h>

#include "addon/arguments.h"
#include "runtime/call.h"
#include "runtime/ceilings.h"
#include "runtime/chain.h"
#include "runtime/cpu-features.h"
#include "runtime/machine.h"

namespace quern {

// A plan decoded once, with the memory it is bound to.
struct NativeBackend::Captured {
  Captured(const Napi::CallbackInfo& info, const Backend& backend)
      : io(info), plan(io.words, io.host, backend.buffers, backend.weights), times(io.times_of(plan.ops().size())) {
    if (!io.chain.empty()) chain.emplace(io.chain, io.host, io.results);
  }
  PlanIo io;
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
                         InstanceMethod("loadWeight", &NativeBackend::guarded<&NativeBackend::load_weight>),
                         InstanceMethod("loadExperts", &NativeBackend::guarded<&NativeBackend::load_experts>),
                         InstanceMethod("loadGptq", &NativeBackend::guarded<&NativeBackend::load_gptq>),
                         InstanceMethod("freeWeight", &NativeBackend::guarded<&NativeBackend::free_weight>),
                         InstanceMethod("execute", &NativeBackend::guarded<&NativeBackend::execute>),
                         InstanceMethod("capture", &NativeBackend::guarded<&NativeBackend::capture>),
                         InstanceMethod("replay", &NativeBackend::guarded<&NativeBackend::replay>),
                         InstanceMethod("replayChain", &NativeBackend::guarded<&NativeBackend::replay_chain>),
                         InstanceMethod("release", &NativeBackend::guarded<&NativeBackend::release>),
                         InstanceMethod("kernelRuns", &NativeBackend::guarded<&NativeBackend::kernel_runs>),
                         InstanceMethod("dispose", &NativeBackend::guarded<&NativeBackend::dispose>),
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
  napi_add_env_cleanup_hook(info.Env(), on_environment_ends, this);
}

// Collected without dispose, or disposed before: only an idle backend is ever collected.
NativeBackend::~NativeBackend() {
  if (backend_) napi_remove_env_cleanup_hook(Env(), on_environment_ends, this);
}

// The process or worker ends with the backend undisposed: its threads must end first.
void NativeBackend::on_environment_ends(void* self) {
  auto* backend = static_cast<NativeBackend*>(self);
  backend->settle_all(false);
}

// Ends all threads, which leaves all work finished; then lets go of what JavaScript lent.
void NativeBackend::settle_all(bool may_run_code) {
  backend_.reset();
  if (may_run_code) settler_->settle();
  else settler_->discard();
  captured_.clear();
  settler_.reset();
}

template <Napi::Value (NativeBackend::*method)(const Napi::CallbackInfo&)>
Napi::Value NativeBackend::guarded(const Info& info) {
  Napi::Value result = info.Env().Undefined();
  if (!backend_) throw Napi::Error::New(info.Env(), "the backend has been disposed");
  const auto failure = attempt([&] { result = (this->*method)(info); });
  if (failure) throw Napi::Error(info.Env(), settler_->make_error(*failure));
  return result;
}

template <class Work>
Napi::Value NativeBackend::submit(std::shared_ptr<void> keeps, Work work) {
  auto pending = std::make_unique<Pending>(Value());
  const Napi::Value promise = pending->deferred.Promise();
  pending->keeps = std::move(keeps);
  settler_->begin();
  // The queue copies its tasks, and a copy must not be the last to let go of JavaScript's memory: hence the bare pointer.
  backend_->queue.post([settler = settler_.get(), work = std::move(work), raw = pending.release()] {
    std::unique_ptr<Pending> owned(raw);
    owned->failure = attempt([&] { work(*owned); });
    settler->finish(std::move(owned));
  });
  return promise;
}

Napi::Value NativeBackend::profile(const Info&) {
  return submit(nullptr, [backend = backend_.get()](Pending& pending) {
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
  return submit(nullptr, [backend = backend_.get()](Pending& pending) {
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
  return Napi::Number::New(info.Env(), backend_->buffers.add(std::move(pages)));
}

Napi::Value NativeBackend::free(const Info& info) {
  backend_->buffers.remove(to_id(info[0], "buffer"));
  return info.Env().Undefined();
}

// The `length` bytes at info[1] of buffer info[0].
std::span<uint8_t> NativeBackend::slice(const Info& info, size_t length) {
  const int32_t id = to_id(info[0], "buffer");
  const auto buffer = backend_->buffers.find(id);
  if (!buffer) fail(Code::bad_argument, "there is no buffer %d", id);
  const uint64_t offset = to_bytes(info[1], "byteOffset");
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

// What load_weight was asked for, by its arguments; whatever is wrong with it is wrong with the weight.
template <class Arguments>
static WeightSource to_source(const Arguments& argument) {
  WeightSource source;
  source.name = to_text(argument(0), "name");
  try {
    source.shape = to_shape(argument(1), "shape");
    source.format = to_text(argument(2), "format");
    if (argument(3).IsString()) {
      source.path = to_text(argument(3), "path");
      source.offset = to_bytes(argument(4), "offset");
      source.bytes = to_bytes(argument(5), "byteLength");
      if (source.path.empty()) fail(Code::bad_argument, "the path is empty");
    } else {
      const auto bytes = to_byte_span(argument(3), "bytes");
      source.memory = bytes.data();
      source.bytes = bytes.size();
    }
  } catch (const Failure& failure) {
    fail(Code::bad_weight, "weight '%s': %s", source.name.c_str(), failure.what());
  }
  return source;
}

// Adds what `load` loads, and resolves to its number and size.
template <class Load>
Napi::Value NativeBackend::submit_load(std::shared_ptr<void> keeps, Load load) {
  return submit(std::move(keeps), [backend = backend_.get(), load = std::move(load)](Pending& pending) {
    const auto weight = load(*backend);
    const int32_t id = backend->weights.add(weight);
    pending.result = [id, bytes = weight->byte_length()](Napi::Env env) {
      Napi::Object handle = Napi::Object::New(env);
      handle["id"] = id;
      handle["byteLength"] = static_cast<double>(bytes);
      return handle;
    };
  });
}

Napi::Value NativeBackend::load_weight(const Info& info) {
  WeightSource source = to_source([&](size_t i) { return info[i]; });
  std::shared_ptr<void> keeps;
  if (source.path.empty()) keeps = std::make_shared<Napi::ObjectReference>(Napi::Persistent(info[3].As<Napi::Object>()));
  return submit_load(std::move(keeps), [source = std::move(source)](Backend& backend) {
    return Weight::load(source, backend.files, backend.kernels, backend.pool);
  });
}

// info[0]: a list of the arguments of load_weight, each a list.
Napi::Value NativeBackend::load_experts(const Info& info) {
  if (!info[0].IsArray()) fail(Code::bad_argument, "sources must be an array");
  const Napi::Array list = info[0].As<Napi::Array>();
  std::vector<WeightSource> sources;
  for (uint32_t i = 0; i < list.Length(); i++) {
    const Napi::Value item = list[i];
    if (!item.IsArray()) fail(Code::bad_argument, "a source must be an array");
    const Napi::Array arguments = item.As<Napi::Array>();
    sources.push_back(to_source([&](size_t at) -> Napi::Value { return arguments[static_cast<uint32_t>(at)]; }));
  }
  auto keeps = std::make_shared<Napi::ObjectReference>(Napi::Persistent(info[0].As<Napi::Object>()));
  return submit_load(std::move(keeps), [sources = std::move(sources)](Backend& backend) {
    return Weight::load_stack(sources, backend.files, backend.kernels, backend.pool);
  });
}

static PartSource to_part(const Napi::Value& value, const char* name) {
  PartSource part;
  if (value.IsTypedArray()) {
    const auto bytes = to_byte_span(value, name);
    part.memory = bytes.data();
    part.bytes = bytes.size();
    return part;
  }
  if (!value.IsObject()) fail(Code::bad_argument, "%s must be a Uint8Array or a slice of a file", name);
  const Napi::Object slice = value.As<Napi::Object>();
  part.path = to_text(slice.Get("path"), "path");
  part.offset = to_bytes(slice.Get("offset"), "offset");
  part.bytes = to_bytes(slice.Get("byteLength"), "byteLength");
  if (part.path.empty()) fail(Code::bad_argument, "the path of %s is empty", name);
  return part;
}

static GptqSource to_gptq_source(const Napi::CallbackInfo& info) {
  constexpr int64_t most = int64_t{1} << 31;
  GptqSource source;
  source.name = to_text(info[0], "name");
  source.N = to_integer(info[1], "N", 1, most);
  source.K = to_integer(info[2], "K", 1, most);
  source.bits = static_cast<int>(to_integer(info[3], "bits", 4, 8));
  source.group_size = to_integer(info[4], "groupSize", -1, most);
  source.version = static_cast<int>(to_integer(info[5], "version", 1, 2));
  if (source.bits % 4 || source.N % (32 / source.bits) || source.K % (32 / source.bits) || source.group_size == 0)
    fail(Code::bad_argument, "the sizes do not fit each other");
  if (!info[6].IsArray()) fail(Code::bad_argument, "parts must be an array");
  const Napi::Array parts = info[6].As<Napi::Array>();
  source.qweight = to_part(parts.Get(0u), "qweight");
  source.qzeros = to_part(parts.Get(1u), "qzeros");
  source.scales = to_part(parts.Get(2u), "scales");
  if (parts.Length() > 3) source.group_index = to_part(parts.Get(3u), "groupIndex");
  return source;
}

Napi::Value NativeBackend::load_gptq(const Info& info) {
  GptqSource source = to_gptq_source(info);
  auto keeps = std::make_shared<Napi::ObjectReference>(Napi::Persistent(info[6].As<Napi::Object>()));
  return submit(std::move(keeps), [backend = backend_.get(), source = std::move(source)](Pending& pending) {
    const auto weight = Weight::load_gptq(source, backend->files, backend->kernels, backend->pool);
    const int32_t id = backend->weights.add(weight);
    pending.result = [id, bytes = weight->byte_length(), format = layout_of(weight->format()).name,
                      ordered = !weight->order().empty()](Napi::Env env) {
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
  backend_->weights.remove(to_id(info[0], "weight"));
  return info.Env().Undefined();
}

Napi::Value NativeBackend::execute(const Info& info) {
  auto io = std::make_shared<PlanIo>(info);
  return submit(io, [backend = backend_.get(), io = io.get()](Pending&) {
    Plan plan(io->words, io->host, backend->buffers, backend->weights);
    backend->executor.run(plan, io->control, io->times_of(plan.ops().size()));
  });
}

Napi::Value NativeBackend::capture(const Info& info) {
  captured_.emplace(next_captured_, std::make_shared<Captured>(info, *backend_));
  return Napi::Number::New(info.Env(), next_captured_++);
}

std::shared_ptr<NativeBackend::Captured> NativeBackend::captured(const Napi::Value& argument) const {
  const int32_t id = to_id(argument, "captured plan");
  const auto found = captured_.find(id);
  if (found == captured_.end()) fail(Code::disposed, "there is no captured plan %d", id);
  found->second->io.need_in_place();
  return found->second;
}

Napi::Value NativeBackend::replay(const Info& info) {
  const auto kept = captured(info[0]);
  return submit(kept, [backend = backend_.get(), raw = kept.get()](Pending&) {
    backend->executor.run(raw->plan, raw->io.control, raw->times);
  });
}

Napi::Value NativeBackend::replay_chain(const Info& info) {
  const auto kept = captured(info[0]);
  if (!kept->chain) fail(Code::bad_argument, "the plan was captured without a chain");
  const int64_t count = to_integer(info[1], "count", 1, INT32_MAX);
  const auto words = to_word_span(info[2], "stops");
  std::vector<int32_t> stops(words.begin(), words.end());
  return submit(kept, [backend = backend_.get(), raw = kept.get(), count, stops = std::move(stops)](Pending& pending) {
    const int64_t done = raw->chain->run(
        count, stops, [&] { backend->executor.run(raw->plan, raw->io.control, raw->times); });
    pending.result = [done](Napi::Env env) { return Napi::Number::New(env, static_cast<double>(done)); };
  });
}

Napi::Value NativeBackend::release(const Info& info) {
  captured_.erase(to_id(info[0], "captured plan"));
  return info.Env().Undefined();
}

Napi::Value NativeBackend::kernel_runs(const Info& info) {
  Napi::Object counts = Napi::Object::New(info.Env());
  for (size_t i = 0; i < std::size(op_table); i++)
    counts[op_table[i].name] = static_cast<double>(backend_->executor.runs(i));
  return counts;
}

Napi::Value NativeBackend::dispose(const Info& info) {
  napi_remove_env_cleanup_hook(Env(), on_environment_ends, this);
  settle_all(true);
  return info.Env().Undefined();
}

} // namespace quern
