// Memory that plans work on and JavaScript sees as ArrayBuffers.
#pragma once
#include <napi.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "quern/buffer.h"

namespace quern {

// Pages that are counted: an ArrayBuffer shows them, and a plan that works on them holds them too. Whatever JavaScript does to the
// ArrayBuffer (transfer, collection), they stay in their place for as long as the plan.
class HostPages : public std::enable_shared_from_this<HostPages> {
 public:
  // An ArrayBuffer of `pages`; an ordinary one of zeros where the embedder allows no others (Electron), which `find` does not know.
  Napi::Value show(Napi::Env env, std::shared_ptr<const Buffer> pages);
  // The pages that begin at `data`; null for memory of anybody else.
  std::shared_ptr<const Buffer> find(const void* data) const;

 private:
  struct Shown;
  static void on_collected(napi_env env, void* data, void* shown);

  mutable std::mutex mutex_; // some embedders collect on threads of their own
  std::unordered_map<const void*, std::weak_ptr<const Buffer>> shown_;
};

} // namespace quern
