#include "cuda/gpu-facts.h"

#include <algorithm>

#include "quern/failure.h"

namespace quern::cuda {

static constexpr int min_compute = 80;

static int attribute(const Driver& driver, DeviceIndex device, Attribute which, const char* act) {
  int value = 0;
  driver.need(driver.device_attribute(&value, which, device), act);
  return value;
}

// Of an attribute that some drivers do not have for some GPUs, in units of `unit`; else `otherwise`.
static double rate_attribute(const Driver& driver, DeviceIndex device, Attribute which, double unit, double otherwise) {
  int value = 0;
  return driver.device_attribute(&value, which, device) == 0 && value > 0 ? value * unit : otherwise;
}

// Memory moves two words of its width in a clock.
static double memory_bandwidth_of(const Driver& driver, DeviceIndex device) {
  constexpr double kilohertz = 1e3, bytes = 1.0 / 8, low_clock = 1e9, narrow = 64 / 8;
  return 2 * rate_attribute(driver, device, memory_clock, kilohertz, low_clock) *
         rate_attribute(driver, device, memory_width, bytes, narrow);
}

static std::string name_of(const Driver& driver, DeviceIndex device) {
  char name[256] = {};
  driver.need(driver.device_name(name, sizeof name, device), "reading the device's name");
  return name;
}

static std::string uuid_of(const Driver& driver, DeviceIndex device) {
  unsigned char uuid[16] = {};
  std::string digits;
  if (driver.device_uuid(uuid, device) != 0 || std::ranges::all_of(uuid, [](unsigned char byte) { return byte == 0; })) return "";
  for (const unsigned char byte : uuid) digits += text("%02x", byte);
  return digits;
}

// "0 (NVIDIA H100), 1 (NVIDIA H100)"
static std::string shown_devices(const Driver& driver) {
  std::string shown;
  for (int index = 0; index < driver.devices(); ++index) {
    DeviceIndex device = 0;
    driver.need(driver.device_get(&device, index), "opening the device");
    shown += text("%s%d (%s)", index == 0 ? "" : ", ", index, name_of(driver, device).c_str());
  }
  return shown;
}

// The words are those of @quern/runtime.
static void need_index(const Driver& driver, int index) {
  const int devices = driver.devices();
  if (index >= 0 && index < devices) return;
  fail(Code::unsupported, "there is no device %d; there %s %s", index, devices == 1 ? "is only" : "are",
       shown_devices(driver).c_str());
}

GpuFacts facts_of(const Driver& driver, int index) {
  need_index(driver, index);
  GpuFacts facts{};
  driver.need(driver.device_get(&facts.device, index), "opening the device");
  facts.name = name_of(driver, facts.device);
  facts.uuid = uuid_of(driver, facts.device);
  facts.major = attribute(driver, facts.device, compute_major, "reading the compute capability");
  facts.minor = attribute(driver, facts.device, compute_minor, "reading the compute capability");
  facts.processors = attribute(driver, facts.device, multiprocessors, "reading the number of multiprocessors");
  facts.cache_memory = attribute(driver, facts.device, second_cache, "reading the size of the cache");
  facts.shared_memory = attribute(driver, facts.device, shared_memory_opt_in, "reading the size of shared memory");
  facts.clock = rate_attribute(driver, facts.device, clock_rate, 1e3, 1e9);
  facts.memory_bandwidth = memory_bandwidth_of(driver, facts.device);
  driver.need(driver.device_memory(&facts.memory, facts.device), "reading the size of the memory");
  if (10 * facts.major + facts.minor < min_compute)
    facts.unusable = text("cuda:%d (%s) has compute capability %d.%d; at least %d.%d is needed", index, facts.name.c_str(),
                          facts.major, facts.minor, min_compute / 10, min_compute % 10);
  return facts;
}

} // namespace quern::cuda
