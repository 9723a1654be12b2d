// Objective-C for the stand-in: objects that count their references, classes that find methods by their selectors.
#pragma once
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "emulated/fault.h"
#include "emulated/setting.h"
#include "metal/api.h"

namespace quern::gpu {

using metal::Object;
using metal::Selector;
using Method = void (*)();

// The methods of a class, or of the class itself ("+"). Names are those of Metal.
class Methods {
 public:
  explicit Methods(const char* name) : name_(name) {}
  const char* name() const { return name_; }
  template <class Result, class... Args>
  Methods& add(const metal::Message<Result(Args...)>& message, std::type_identity_t<Result (*)(Object, Selector, Args...)> method) {
    methods_[message.name()] = reinterpret_cast<Method>(method);
    return *this;
  }
  // Throws a Fault if there is none.
  Method find(const std::string& selector) const;

 private:
  const char* const name_;
  std::map<std::string, Method> methods_;
};

// Every object derives from it. Objects are known by their address: one that was released too often is found.
class Instance {
 public:
  explicit Instance(const Methods& methods);
  virtual ~Instance();
  Instance(const Instance&) = delete;
  const Methods& methods() const { return methods_; }

 private:
  friend void retain(Instance* instance);
  friend void release(Instance* instance);
  const Methods& methods_;
  int references_ = 1;
};

void retain(Instance* instance);
void release(Instance* instance);
// The pool of this thread releases it at its end. Throws a Fault if there is no pool.
Object autoreleased(Instance* instance);
// Of an object that is alive; throws a Fault otherwise.
Instance& instance_of(Object object);

template <class T>
T& as_a(Object object) { return dynamic_cast<T&>(instance_of(object)); }

// A reference that is kept.
template <class T>
class Kept {
 public:
  explicit Kept(T* object = nullptr) : object_(object) {
    if (object_) retain(object_);
  }
  Kept(const Kept& other) : Kept(other.object_) {}
  Kept& operator=(const Kept& other) {
    Kept copy(other);
    std::swap(object_, copy.object_);
    return *this;
  }
  ~Kept() {
    if (object_) release(object_);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }

 private:
  T* object_;
};

// A class by its name; `methods` are those of the class itself.
void define_class(const char* name, const Methods& methods);
struct ClassDefinition {
  ClassDefinition(const char* name, const Methods& methods) { define_class(name, methods); }
};

struct StringObject : Instance {
  explicit StringObject(std::string text);
  const std::string text;
};
struct ArrayObject : Instance {
  explicit ArrayObject(std::vector<Kept<Instance>> items);
  const std::vector<Kept<Instance>> items;
};
struct ErrorObject : Instance {
  explicit ErrorObject(std::string text);
  const std::string text;
};
// Adds a line to the file QUERN_EMULATED_ALIVE: the objects that are alive, by class.
void write_alive();

// Writes an error, unless the caller wants none; the null that a method returns then.
Object failed(Object* error, const std::string& text);

}  // namespace quern::gpu
