// A driver as a JavaScript object (NativeBackend in src/native-backend.ts).
#pragma once
#include <napi.h>

#include <functional>
#include <memory>
#include <unordered_map>

#include "quern/addon/plan-io.h"
#include "quern/addon/settler.h"
#include "quern/driver.h"

namespace quern {

class NativeBackend : public Napi::ObjectWrap<NativeBackend> {
 public:
  static Napi::Function define(Napi::Env env);

  // new NativeBackend(options, makeError): options go to make_device; makeError(code, message) makes each error to throw.
  explicit NativeBackend(const Napi::CallbackInfo& info);
  ~NativeBackend() override;
  // Replaces ObjectWrap's: refuses objects that another class wrapped.
  static NativeBackend* Unwrap(Napi::Object object);

 private:
  using Info = Napi::CallbackInfo;
  Napi::Value profile(const Info& info);      // () → Promise<profile>
  Napi::Value ceilings(const Info& info);     // () → Promise<ceilings>
  // () → Device::unmeasured_rates, once the device has run and has had no work for a second; else ''
  Napi::Value unmeasured_rates(const Info& info);
  Napi::Value has_unified_memory(const Info& info); // () → boolean
  Napi::Value free_memory(const Info& info);  // () → bytes
  Napi::Value allocate(const Info& info);     // (bytes) → id
  Napi::Value free(const Info& info);         // (id)
  Napi::Value write(const Info& info);        // (id, offset, Uint8Array) → undefined, or a Promise if memory is not unified
  Napi::Value read(const Info& info);         // (id, offset, Uint8Array) → as `write`
  Napi::Value host_memory(const Info& info);  // (bytes) → ArrayBuffer
  // Bytes of a weight: a slice of a file, {path, offset, byteLength, mmap?}, or the id of bytes that `giveBytes` filled.
  Napi::Value give(const Info& info);         // (bytes) → id
  Napi::Value give_bytes(const Info& info);   // (id, offset, Uint8Array)
  Napi::Value take_back(const Info& info);    // (id)
  // (name, shape, format, parts: [bytes] or [bytes, rows, from, of]) → Promise<{id, byteLength}>
  Napi::Value load_weight(const Info& info);
  // (name, N, K, bits, groupSize, version, [qweight, qzeros, scales, groupIndex?]) → Promise<{id, byteLength, format}>
  Napi::Value load_gptq(const Info& info);
  Napi::Value free_weight(const Info& info);  // (id)
  Napi::Value execute(const Info& info);      // (words, inputs, outputs, control, fault, times?) → Promise
  Napi::Value capture(const Info& info);      // (words, inputs, outputs, control, fault, times?, chain?, results?, counts?) → Promise<id>
  Napi::Value replay(const Info& info);       // (id, dirty?: Float64Array of [from, to, …]) → Promise; absent: all inputs
  Napi::Value replay_chain(const Info& info); // (id, limits, stops, dirty?, onReplays?: (done)) → Promise<replays>
  Napi::Value release(const Info& info);      // (id)
  Napi::Value kernel_runs(const Info& info);  // () → {op: count}
  Napi::Value dispose(const Info& info);      // (); twice is harmless

  // A method; its Failures become JavaScript exceptions.
  template <Napi::Value (NativeBackend::*method)(const Info&)>
  Napi::Value guarded(const Info& info);

  // Throws DISPOSED after `dispose`. Call this after reading all arguments: their getters may call `dispose`.
  Driver& alive() const;

  // Runs `work` on the driver's thread; the promise settles when `work` returns or throws.
  template <class Work>
  Napi::Value submit(std::shared_ptr<void> keeps, Work work);

  struct Captured;
  struct Replay;
  // A run of the captured plan with id info[0]; info[dirty] holds the dirty ranges.
  std::shared_ptr<Replay> replay_of(const Info& info, size_t dirty) const;
  static std::function<void(int64_t done)> reporting(Settler& settler, const Pending& pending);
  void settle_all(bool may_run_code);
  static void on_environment_ends(void* self);

  std::unique_ptr<Settler> settler_;
  std::shared_ptr<HostPages> host_pages_ = std::make_shared<HostPages>();
  std::unique_ptr<Driver> driver_; // null after `dispose`
  std::unordered_map<int32_t, std::shared_ptr<Captured>> captured_;
  int32_t next_captured_ = 0;
};

} // namespace quern
