// What Metal tells about a GPU before it is used.
#pragma once
#include <string>
#include <vector>

#include "metal/objc.h"

namespace quern::metal {

struct MetalFacts {
  Owned device;         // MTLDevice
  int index;
  std::string name;     // "Apple M3 Max"
  std::string system;   // "macOS 15.1"
  int family;           // of Apple's GPUs: 7 for M1; 0: another one
  uint64_t registry_id; // of this GPU, until the machine starts again
  uint64_t memory;      // bytes that its work should have at most
  std::string unusable; // why this backend cannot use the GPU; empty: it can

  std::string isa() const { return family > 0 ? "apple" + std::to_string(family) : "metal3"; }
  std::string label() const { return "metal:" + std::to_string(index) + " (" + name + ")"; }
  // Matrices of simdgroups (Metal Feature Set Tables): GPUs of hosted Macs have none.
  bool has_matrices() const { return family >= 7; }
};

// Every GPU. Throws NoMetal if there is none.
std::vector<MetalFacts> all_facts();
// Throws UNSUPPORTED if there is no device `index`.
MetalFacts facts_of(int index);

}  // namespace quern::metal
