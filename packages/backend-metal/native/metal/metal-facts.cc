#include "metal/metal-facts.h"

#include <stdlib.h>

#include "metal/api.h"
#include "metal/strings.h"
#include "quern/failure.h"

namespace quern::metal {

static constexpr int least_system = 15; // residency sets, modes of mathematics

// "macOS 15.1" of "Version 15.1 (Build 24B83)".
static std::string system_of_machine() {
  const std::string told = text_of(system_version(process_info(Runtime::get().class_named("NSProcessInfo"))));
  const size_t first = told.find_first_of("0123456789");
  return first == std::string::npos ? "macOS" : "macOS " + told.substr(first, told.find(' ', first) - first);
}

static int major_of(const std::string& system) { return atoi(system.c_str() + std::string("macOS ").size()); }

// The newest family of Apple's GPUs that this one belongs to.
static int family_of(Object device) {
  constexpr int newest = 20;
  for (int family = newest; family > 0; family--)
    if (supports_family(device, family_apple7 - 7 + family)) return family;
  return 0;
}

static std::string why_unusable(const MetalFacts& facts) {
  if (major_of(facts.system) < least_system)
    return text("%s needs macOS %d; this is %s: update the system", facts.label().c_str(), least_system, facts.system.c_str());
  if (!supports_family(facts.device.get(), family_metal3))
    return text("%s does not belong to the family Metal 3, which this backend needs: it runs on Macs with Apple silicon", facts.label().c_str());
  if (!has_unified_memory(facts.device.get()))
    return text("%s has memory of its own: this backend runs on Macs with Apple silicon", facts.label().c_str());
  return "";
}

static MetalFacts describe(Object device, int index, const std::string& system) {
  MetalFacts facts{Owned::keep(device), index, text_of(name_of(device)), system, family_of(device), registry_id(device), working_set(device), ""};
  facts.unusable = why_unusable(facts);
  return facts;
}

std::vector<MetalFacts> all_facts() {
  const Pool pool;
  const Owned devices(Runtime::get().all_devices());
  const std::string system = system_of_machine();
  std::vector<MetalFacts> facts;
  for (Natural i = 0; i < count(devices.get()); i++) facts.push_back(describe(object_at(devices.get(), i), int(i), system));
  if (facts.empty()) throw NoMetal("Metal shows no GPU");
  return facts;
}

// The words are those of @quern/runtime.
MetalFacts facts_of(int index) {
  std::vector<MetalFacts> facts = all_facts();
  if (size_t(index) < facts.size()) return std::move(facts[size_t(index)]);
  std::string shown;
  for (const MetalFacts& device : facts) shown += text("%s%d (%s)", shown.empty() ? "" : ", ", device.index, device.name.c_str());
  fail(Code::unsupported, "there is no device %d; there %s %s", index, facts.size() == 1 ? "is only" : "are", shown.c_str());
}

}  // namespace quern::metal
