// Settles promises of work that another thread has finished, and tells JavaScript of its progress. All use one ThreadSafeFunction.
#pragma once
#include <napi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "quern/failure.h"

namespace quern {

// Work in flight. Made and destroyed on the JavaScript thread; the worker sets `failure` or `result` in between.
struct Pending {
  explicit Pending(Napi::Object owner)
      : deferred(Napi::Promise::Deferred::New(owner.Env())), owner(Napi::Persistent(owner)) {}

  Napi::Promise::Deferred deferred;
  Napi::ObjectReference owner;                      // the backend: not collected before this settles
  std::shared_ptr<void> keeps;                      // JavaScript memory of the work
  std::function<Napi::Value(Napi::Env env)> result; // makes the promise's value; empty: undefined
  std::optional<Failure> failure;
};

// Work of which JavaScript hears before it ends. Destroyed on the JavaScript thread.
class Progress {
 public:
  virtual ~Progress() = default;
  // JavaScript thread. May run JavaScript.
  virtual void tell(Napi::Env env) = 0;

 private:
  friend class Settler;
  bool waits_ = false; // to be told
};

// Runs `work`. Returns its exception as a Failure; rethrows JavaScript exceptions.
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

// make(code, message): the JavaScript error of a Failure.
Napi::Value make_error(Napi::Function make, const Failure& failure);

class Settler {
 public:
  // make_error(code, message) makes the error of a rejected promise.
  Settler(Napi::Env env, Napi::Function make_error);
  ~Settler() { close(); }
  Settler(const Settler&) = delete;
  // JavaScript thread, nothing in flight. After this call only `make_error` may be called.
  void close();

  // JavaScript thread. Keeps the event loop alive from the first `begin` to the last settlement.
  void begin();
  // Any thread. Queues finished work.
  void finish(std::unique_ptr<Pending> pending);
  // Any thread, before `finish` of the same work. Calls `tell` soon; calls that JavaScript has not answered yet become one.
  void report(std::shared_ptr<Progress> progress);
  // JavaScript thread. Tells all progress, then settles all finished work.
  void settle();
  // JavaScript thread. Drops all finished work: for an environment that may run no more code.
  void discard();

  Napi::Value make_error(const Failure& failure);
  // Since the last settlement; 0 while something is in flight.
  std::chrono::steady_clock::duration idle_time() const;

 private:
  static void on_finished(napi_env env, napi_value, void* context, void*);
  struct News {
    std::vector<std::shared_ptr<Progress>> progress;
    std::vector<std::unique_ptr<Pending>> finished;
  };
  News take_news();
  void tell(Progress& progress);
  void settle(Pending& pending);

  Napi::Env env_;
  Napi::FunctionReference make_error_;
  napi_threadsafe_function wake_ = nullptr;
  size_t in_flight_ = 0;
  std::chrono::steady_clock::time_point settled_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  News news_;
  News spare_; // JavaScript thread: memory for the next lists
};

} // namespace quern
