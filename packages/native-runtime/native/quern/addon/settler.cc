#include "quern/addon/settler.h"

#include <utility>

namespace quern {

Settler::Settler(Napi::Env env, Napi::Function make_error) : env_(env), make_error_(Napi::Persistent(make_error)) {
  const napi_status status =
      napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, "quern"), 0, 1, nullptr,
                                      nullptr, this, on_finished, &wake_);
  if (status != napi_ok) fail(Code::device_failed, "Node refused a ThreadSafeFunction (status %d)", status);
  napi_unref_threadsafe_function(env, wake_);
}

void Settler::close() {
  if (wake_) napi_release_threadsafe_function(wake_, napi_tsfn_abort);
  wake_ = nullptr;
}

void Settler::begin() {
  if (in_flight_++ == 0) napi_ref_threadsafe_function(env_, wake_);
}

void Settler::finish(std::unique_ptr<Pending> pending) {
  {
    std::lock_guard lock(mutex_);
    news_.finished.push_back(std::move(pending));
  }
  napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
}

void Settler::report(std::shared_ptr<Progress> progress) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(progress->waits_, true)) return;
    news_.progress.push_back(std::move(progress));
  }
  napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
}

// Calls still queued after the Settler's end come with a null environment.
void Settler::on_finished(napi_env env, napi_value, void* context, void*) {
  if (env) static_cast<Settler*>(context)->settle();
}

// Both lists at once: work is not told of after it has settled.
Settler::News Settler::take_news() {
  News taken = std::exchange(spare_, {});
  std::lock_guard lock(mutex_);
  std::swap(taken, news_);
  for (const auto& progress : taken.progress) progress->waits_ = false;
  return taken;
}

// A failure is that of the work too: JavaScript has transferred its memory.
void Settler::tell(Progress& progress) try {
  attempt([&] { progress.tell(env_); });
} catch (const Napi::Error&) {
  // The environment is ending: listeners of core throw nothing.
}

// An exception of a result rejects its promise.
void Settler::settle(Pending& pending) try {
  Napi::Value value = env_.Undefined();
  if (!pending.failure && pending.result) pending.failure = attempt([&] { value = pending.result(env_); });
  if (pending.failure) pending.deferred.Reject(make_error(*pending.failure));
  else pending.deferred.Resolve(value);
} catch (const Napi::Error& error) {
  pending.deferred.Reject(error.Value());
}

// make_error runs JavaScript. JavaScript may call `dispose`, and so call `settle` again: each call settles its own list.
void Settler::settle() {
  auto [told, settling] = take_news();
  if (told.empty() && settling.empty()) return;
  const Napi::HandleScope scope(env_);
  for (const auto& progress : told) tell(*progress);
  told.clear();
  if (settling.empty()) return spare_.progress.swap(told);
  in_flight_ -= settling.size();
  settled_ = std::chrono::steady_clock::now();
  for (const auto& pending : settling) try {
      settle(*pending);
    } catch (const std::exception&) {
      // The environment is ending: no code can receive the error, and C++ exceptions cannot pass Node's C code.
    }
  settling.clear();
  spare_ = {std::move(told), std::move(settling)};
  if (in_flight_ == 0 && wake_) napi_unref_threadsafe_function(env_, wake_);
}

std::chrono::steady_clock::duration Settler::idle_time() const {
  using Clock = std::chrono::steady_clock;
  return in_flight_ > 0 ? Clock::duration(0) : Clock::now() - settled_;
}

void Settler::discard() { in_flight_ -= take_news().finished.size(); }

Napi::Value Settler::make_error(const Failure& failure) { return quern::make_error(make_error_.Value(), failure); }

Napi::Value make_error(Napi::Function make, const Failure& failure) {
  const Napi::Env env = make.Env();
  return make.Call({Napi::String::New(env, code_name(failure.code)), Napi::String::New(env, failure.what())});
}

} // namespace quern
