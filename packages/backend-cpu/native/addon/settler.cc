#include "addon/settler.h"

namespace quern {

Settler::Settler(Napi::Env env, Napi::Function make_error) : env_(env), make_error_(Napi::Persistent(make_error)) {
  const napi_status status =
      napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, "quern-backend-cpu"), 0, 1, nullptr,
                                      nullptr, this, on_finished, &wake_);
  if (status != napi_ok) fail(Code::device_failed, "Node refused a ThreadSafeFunction (status %d)", status);
  napi_unref_threadsafe_function(env, wake_);
}

Settler::~Settler() { napi_release_threadsafe_function(wake_, napi_tsfn_abort); }

void Settler::begin() {
  if (in_flight_++ == 0) napi_ref_threadsafe_function(env_, wake_);
}

void Settler::finish(std::unique_ptr<Pending> pending) {
  {
    std::lock_guard lock(mutex_);
    finished_.push_back(std::move(pending));
  }
  napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
}

// After the Settler is gone, calls that were still queued come with no environment.
void Settler::on_finished(napi_env env, napi_value, void* context, void*) {
  if (env) static_cast<Settler*>(context)->settle();
}

void Settler::take_finished() {
  settling_.clear();
  std::lock_guard lock(mutex_);
  settling_.swap(finished_);
}

void Settler::settle() {
  take_finished();
  if (settling_.empty()) return;
  const Napi::HandleScope scope(env_);
  for (const auto& pending : settling_) try {
      if (pending->failure) pending->deferred.Reject(make_error(*pending->failure));
      else pending->deferred.Resolve(pending->result ? pending->result(env_) : env_.Undefined());
    } catch (const std::exception&) {
      // The environment is being torn down: nobody is left to hear of it, and Node's C code cannot be thrown through.
    }
  in_flight_ -= settling_.size();
  settling_.clear();
  if (in_flight_ == 0) napi_unref_threadsafe_function(env_, wake_);
}

void Settler::discard() {
  take_finished();
  in_flight_ -= settling_.size();
  settling_.clear();
}

Napi::Value Settler::make_error(const Failure& failure) {
  return make_error_.Call({Napi::String::New(env_, code_name(failure.code)), Napi::String::New(env_, failure.what())});
}

} // namespace quern
