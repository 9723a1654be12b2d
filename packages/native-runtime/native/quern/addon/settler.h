// Settles promises for work that another thread has finished, through one ThreadSafeFunction.
#pragma once
#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "quern/failure.h"

namespace quern {

// Work in flight. Made and destroyed on the JavaScript thread; the worker fills `failure` or `result` in between.
struct Pending {
  explicit Pending(Napi::Object owner)
      : deferred(Napi::Promise::Deferred::New(owner.Env())), owner(Napi::Persistent(owner)) {}

  Napi::Promise::Deferred deferred;
  Napi::ObjectReference owner;                      // the backend, not to be collected before this is settled
  std::shared_ptr<void> keeps;                      // JavaScript memory that the work uses
  std::function<Napi::Value(Napi::Env env)> result; // makes what the promise resolves to; empty: undefined
  std::optional<Failure> failure;
};

// Runs `work` and keeps what it throws, but for what JavaScript has thrown.
template <class Work>
std::optional<Failure> attempt(const Work& work) {
  try {
    work();
    return {};
  } catch (const Failure& failure) {
    return failure;
  } catch (const std::bad_alloc&) {
    return Failure(Code::out_of_memory, "there is no memory left for the backend's own bookkeeping");
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& error) {
    return Failure(Code::device_failed, error.what());
  } catch (...) {
    return Failure(Code::device_failed, "the work ended with an exception of an unknown kind");
  }
}

class Settler {
 public:
  // make_error(code, message) gives the error that promises reject with.
  Settler(Napi::Env env, Napi::Function make_error);
  ~Settler() { close(); }
  Settler(const Settler&) = delete;
  // JavaScript thread, when nothing is in flight: `make_error` is all that may be called from now on.
  void close();

  // JavaScript thread: from the first `begin` to the last settlement the event loop is kept alive.
  void begin();
  // Any thread: hands finished work over.
  void finish(std::unique_ptr<Pending> pending);
  // JavaScript thread: settles what has finished.
  void settle();
  // JavaScript thread: drops what has finished, for an environment in which no code may run any more.
  void discard();

  Napi::Value make_error(const Failure& failure);
  bool idle() const { return in_flight_ == 0; }

 private:
  static void on_finished(napi_env env, napi_value, void* context, void*);
  std::vector<std::unique_ptr<Pending>> take_finished();
  void settle(Pending& pending);

  Napi::Env env_;
  Napi::FunctionReference make_error_;
  napi_threadsafe_function wake_ = nullptr;
  size_t in_flight_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Pending>> finished_;
  std::vector<std::unique_ptr<Pending>> spare_; // of the JavaScript thread: memory for the next
};

} // namespace quern
