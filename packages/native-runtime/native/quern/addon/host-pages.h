// Host memory that plans use and JavaScript sees as ArrayBuffers.
#pragma once
#include <napi.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "quern/buffer.h"

namespace quern {

// Pages with shared owners: the ArrayBuffer that shows the pages, and each plan that uses the pages. JavaScript may
// transfer or collect the ArrayBuffer; the pages stay at their address until the plan ends.
class HostPages : public std::enable_shared_from_this<HostPages> {
 public:
  // An ArrayBuffer over `pages`. Where the embedder forbids external ArrayBuffers (Electron): an ordinary ArrayBuffer of
  // zeros, unknown to `find`.
  Napi::Value show(Napi::Env env, std::shared_ptr<const Buffer> pages);
  // The pages that begin at `data`; null for other memory.
  std::shared_ptr<const Buffer> find(const void* data) const;

 private:
  struct Shown;
  static void on_collected(napi_env env, void* data, void* shown);

  mutable std::mutex mutex_; // some embedders collect on their own threads
  std::unordered_map<const void*, std::weak_ptr<const Buffer>> shown_;
};

} // namespace quern
