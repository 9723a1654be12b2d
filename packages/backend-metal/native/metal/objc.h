// Messages to objects of Objective-C, from C++: the runtime's functions are found at run time, as Metal's are. Any C++ compiler
// builds this, and a stand-in library (QUERN_METAL_LIBRARY) may take the place of both.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string>
#include <utility>

#include "quern/failure.h"

namespace quern::metal {

// There is no Metal here, or it shows no GPU.
struct NoMetal : Failure {
  explicit NoMetal(const std::string& message) : Failure(Code::unsupported, message) {}
};

using Object = void*;    // id
using Class = void*;
using Selector = void*;  // SEL
using Integer = long;    // NSInteger
using Natural = unsigned long; // NSUInteger
using Bool = signed char; // BOOL

// The functions of a library that has them all: libobjc and Metal on macOS, the stand-in elsewhere.
struct Runtime {
  Class (*class_named)(const char* name);                        // objc_getClass
  Selector (*selector_named)(const char* name);                  // sel_registerName
  Class (*class_of)(Object);                                     // object_getClass; of a class: its metaclass
  void (*(*method)(Class, Selector))();                          // class_getMethodImplementation
  Object (*retain)(Object);                                      // objc_retain
  void (*release)(Object);                                       // objc_release
  void* (*pool_push)();                                          // objc_autoreleasePoolPush
  void (*pool_pop)(void*);                                       // objc_autoreleasePoolPop
  Object (*all_devices)();                                       // MTLCopyAllDevices: a retained NSArray

  // Opened once. Throws NoMetal: there is no such library; UNSUPPORTED: a function is missing.
  static const Runtime& open(const std::string& library);
  static const Runtime& get(); // the one that was opened last
};

// A selector with the type of its method: Message<Natural(Object)> has the result first, then the arguments behind self and the
// selector. Sending to null gives zero, as in Objective-C.
template <class Signature>
class Message;
template <class Result, class... Args>
class Message<Result(Args...)> {
 public:
  constexpr Message(const char* name) : name_(name) {}
  const char* name() const { return name_; }
  Result operator()(Object self, Args... args) const {
    if (!self) return Result();
    const Runtime& runtime = Runtime::get();
    const Selector selector = selector_of(runtime);
    const auto method = reinterpret_cast<Result (*)(Object, Selector, Args...)>(runtime.method(runtime.class_of(self), selector));
    return method(self, selector, args...);
  }

 private:
  // Names have one selector each in a process.
  Selector selector_of(const Runtime& runtime) const {
    if (!selector_.load(std::memory_order_relaxed)) selector_.store(runtime.selector_named(name_), std::memory_order_relaxed);
    return selector_.load(std::memory_order_relaxed);
  }

  const char* name_;
  mutable std::atomic<Selector> selector_{nullptr};
};

// Keeps an object: takes a reference that the caller owns ("new…", "copy…").
class Owned {
 public:
  Owned() = default;
  explicit Owned(Object object) : object_(object) {}
  static Owned keep(Object object) { return Owned(object ? Runtime::get().retain(object) : nullptr); }
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_) Runtime::get().release(object_);
  }
  Object get() const { return object_; }
  explicit operator bool() const { return object_; }

 private:
  Object object_ = nullptr;
};

// Objects that methods return without ownership live until its end.
class Pool {
 public:
  Pool() : pool_(Runtime::get().pool_push()) {}
  ~Pool() { Runtime::get().pool_pop(pool_); }
  Pool(const Pool&) = delete;

 private:
  void* const pool_;
};

}  // namespace quern::metal
