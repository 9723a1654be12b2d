#include "quern/addon/host-pages.h"

#include "quern/failure.h"

// Addons are compiled with NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED: memory of theirs as an ArrayBuffer is refused at run time by Electron, so
// the headers hide this function. HostPages::show has an answer to the refusal.
extern "C" NAPI_EXTERN napi_status NAPI_CDECL napi_create_external_arraybuffer(
    napi_env env, void* external_data, size_t byte_length, napi_finalize finalize_cb, void* finalize_hint, napi_value* result);

namespace quern {

// Owned by an ArrayBuffer: keeps its pages and the table alive.
struct HostPages::Shown {
  std::shared_ptr<const Buffer> pages;
  std::shared_ptr<HostPages> table;
};

Napi::Value HostPages::show(Napi::Env env, std::shared_ptr<const Buffer> pages) {
  const uint64_t bytes = pages->bytes();
  if (bytes == 0) return Napi::ArrayBuffer::New(env, 0);
  auto shown = std::make_unique<Shown>(Shown{std::move(pages), shared_from_this()});
  uint8_t* const data = shown->pages->data();
  napi_value buffer;
  const napi_status status = napi_create_external_arraybuffer(env, data, bytes, on_collected, shown.get(), &buffer);
  if (status == napi_no_external_buffers_allowed) return Napi::ArrayBuffer::New(env, bytes);
  if (status != napi_ok)
    fail(Code::device_failed, "Node refused an ArrayBuffer of %llu bytes (status %d)", static_cast<unsigned long long>(bytes), status);
  const std::lock_guard lock(mutex_);
  shown_[data] = shown.release()->pages;
  return {env, buffer};
}

std::shared_ptr<const Buffer> HostPages::find(const void* data) const {
  const std::lock_guard lock(mutex_);
  const auto found = shown_.find(data);
  return found == shown_.end() ? nullptr : found->second.lock();
}

void HostPages::on_collected(napi_env, void* data, void* given) {
  const std::unique_ptr<Shown> shown(static_cast<Shown*>(given));
  const std::lock_guard lock(shown->table->mutex_);
  shown->table->shown_.erase(data);
}

} // namespace quern
