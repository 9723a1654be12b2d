// The backend as a JavaScript object.
#pragma once
#include <napi.h>

#include <memory>
#include <unordered_map>

#include "addon/plan-io.h"
#include "addon/settler.h"
#include "runtime/backend.h"

namespace quern {

class NativeBackend : public Napi::ObjectWrap<NativeBackend> {
 public:
  static Napi::Function define(Napi::Env env);

  // new NativeBackend(threads, isa, makeError): 0 and '' choose; makeError(code, message) gives the errors thrown.
  explicit NativeBackend(const Napi::CallbackInfo& info);
  ~NativeBackend() override;

 private:
  using Info = Napi::CallbackInfo;
  Napi::Value profile(const Info& info);      // () → Promise<profile>
  Napi::Value ceilings(const Info& info);     // () → Promise<ceilings>
  Napi::Value free_memory(const Info& info);  // () → bytes
  Napi::Value allocate(const Info& info);     // (bytes) → id
  Napi::Value free(const Info& info);         // (id)
  Napi::Value write(const Info& info);        // (id, offset, Uint8Array)
  Napi::Value read(const Info& info);         // (id, offset, Uint8Array)
  Napi::Value load_weight(const Info& info);  // (name, shape, format, path | Uint8Array, offset, bytes) → Promise<{id, byteLength}>
  Napi::Value load_experts(const Info& info); // ([[name, shape, …], …]) → Promise<{id, byteLength}>
  // (name, N, K, bits, groupSize, version, [qweight, qzeros, scales, groupIndex?]: slice | Uint8Array)
  // → Promise<{id, byteLength, format, ordered}>
  Napi::Value load_gptq(const Info& info);
  Napi::Value free_weight(const Info& info);  // (id)
  Napi::Value execute(const Info& info);      // (words, inputs, outputs, control, times?) → Promise
  Napi::Value capture(const Info& info);      // (words, inputs, outputs, control, times?, chain?, results?) → id
  Napi::Value replay(const Info& info);       // (id) → Promise
  Napi::Value replay_chain(const Info& info); // (id, count, stops) → Promise<replays>
  Napi::Value release(const Info& info);      // (id)
  Napi::Value kernel_runs(const Info& info);  // () → {op: count}
  Napi::Value dispose(const Info& info);      // ()

  // A method whose Failures become JavaScript exceptions.
  template <Napi::Value (NativeBackend::*method)(const Info&)>
  Napi::Value guarded(const Info& info);

  // Runs `work` on the backend's own thread; the promise settles when it has returned or thrown.
  template <class Work>
  Napi::Value submit(std::shared_ptr<void> keeps, Work work);
  template <class Load>
  Napi::Value submit_load(std::shared_ptr<void> keeps, Load load);

  std::span<uint8_t> slice(const Info& info, size_t length);
  struct Captured;
  // The captured plan that an argument names, with its memory in place.
  std::shared_ptr<Captured> captured(const Napi::Value& id) const;
  void settle_all(bool may_run_code);
  static void on_environment_ends(void* self);

  std::unique_ptr<Settler> settler_;
  std::unique_ptr<Backend> backend_; // null once disposed
  std::unordered_map<int32_t, std::shared_ptr<Captured>> captured_;
  int32_t next_captured_ = 0;
};

} // namespace quern
