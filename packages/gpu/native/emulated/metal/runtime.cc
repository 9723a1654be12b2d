// The functions of Objective-C's runtime that backend-metal calls.
#include <mutex>
#include <set>

#include "emulated/metal/classes.h"

namespace quern::gpu {

namespace {

struct World {
  std::recursive_mutex mutex;
  std::set<const void*> alive;
  std::map<std::string, Instance*> classes;
  std::set<std::string> selectors;
};
World& world() {
  static World& world = *new World; // threads may use it while the process exits
  return world;
}

using PoolOfThread = std::vector<std::vector<Instance*>>;
PoolOfThread& pools() {
  static thread_local PoolOfThread pools;
  return pools;
}

}  // namespace

Method Methods::find(const std::string& selector) const {
  const auto found = methods_.find(selector);
  if (found == methods_.end()) fault("%s has no method %s", name_, selector.c_str());
  return found->second;
}

Instance::Instance(const Methods& methods) : methods_(methods) {
  const std::lock_guard lock(world().mutex);
  world().alive.insert(this);
}
Instance::~Instance() {
  const std::lock_guard lock(world().mutex);
  world().alive.erase(this);
}

Instance& instance_of(Object object) {
  const std::lock_guard lock(world().mutex);
  if (!world().alive.contains(object)) fault("a message to %p, which is no object, or was released", object);
  return *static_cast<Instance*>(object);
}

void retain(Instance* instance) {
  const std::lock_guard lock(world().mutex);
  instance_of(instance).references_++;
}
// The object ends outside of the lock: a buffer waits for work that other threads run, which looks up objects.
void release(Instance* instance) {
  bool last = false;
  {
    const std::lock_guard lock(world().mutex);
    last = --instance_of(instance).references_ == 0;
  }
  if (last) delete instance;
}

Object autoreleased(Instance* instance) {
  if (pools().empty()) fault("%s is autoreleased without a pool: it leaks", instance->methods().name());
  pools().back().push_back(instance);
  return instance;
}

void define_class(const char* name, const Methods& methods) {
  const std::lock_guard lock(world().mutex);
  world().classes[name] = new Instance(methods);
}

// "MTLBuffer 2": the objects that are alive, without classes.
static std::string shown_alive() {
  const std::lock_guard lock(world().mutex);
  std::map<std::string, int> counts;
  for (const void* const object : world().alive) counts[static_cast<const Instance*>(object)->methods().name()]++;
  std::string shown;
  for (const auto& [name, count] : counts)
    if (!name.starts_with('+')) shown += (shown.empty() ? "" : ", ") + name + " " + std::to_string(count);
  return shown;
}

}  // namespace quern::gpu

using namespace quern::gpu;

#define EXPORT(Result) extern "C" __attribute__((visibility("default"))) Result

EXPORT(Object) objc_getClass(const char* name) {
  const std::lock_guard lock(world().mutex);
  const auto found = world().classes.find(name);
  return found == world().classes.end() ? nullptr : found->second;
}
EXPORT(Selector) sel_registerName(const char* name) {
  const std::lock_guard lock(world().mutex);
  return const_cast<char*>(world().selectors.insert(name).first->c_str());
}
EXPORT(Object) object_getClass(Object object) { return const_cast<Methods*>(&instance_of(object).methods()); }
EXPORT(Method) class_getMethodImplementation(void* methods, Selector selector) {
  return static_cast<const Methods*>(methods)->find(static_cast<const char*>(selector));
}
EXPORT(Object) objc_retain(Object object) { return retain(&instance_of(object)), object; }
EXPORT(void) objc_release(Object object) { release(&instance_of(object)); }
EXPORT(void*) objc_autoreleasePoolPush() {
  pools().emplace_back();
  return reinterpret_cast<void*>(pools().size());
}
EXPORT(void) objc_autoreleasePoolPop(void* pool) {
  if (reinterpret_cast<size_t>(pool) != pools().size()) fault("a pool ends before one that began later");
  const std::vector<Instance*> ended = std::move(pools().back());
  pools().pop_back();
  for (Instance* const object : ended) release(object);
}
// For tests: writes what is alive into the file QUERN_EMULATED_ALIVE.
void quern::gpu::write_alive() { append_line("QUERN_EMULATED_ALIVE", shown_alive().c_str()); }
