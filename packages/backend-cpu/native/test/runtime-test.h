// Shared by the runtime tests: counted checks, temporary files, plans written by hand.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "quern/failure.h"
#include "runtime/cpu-device.h"

namespace quern::test {

inline int failures = 0;

// One test: counts its checks, prints the first few failures.
class Check {
 public:
  explicit Check(const char* name) : name_(name) {}
  ~Check() {
    printf("%s %s (%ld checks)\n", failed_ || !checks_ ? "FAIL" : "PASS", name_, checks_);
    failures += failed_ || !checks_;
  }
  Check(const Check&) = delete;

  bool that(bool ok, const std::string& what) {
    checks_++;
    if (!ok && failed_++ < 5) printf("  %s: %s\n", name_, what.c_str());
    return ok;
  }
  template <class T>
  void same(const T& got, const T& want, const std::string& what) {
    that(got == want, what + ": got " + std::to_string(got) + ", want " + std::to_string(want));
  }
  // `body` must throw a Failure with this code; its message must contain `part`.
  template <class Body>
  void fails(Code code, const std::string& part, const Body& body) {
    try {
      body();
      that(false, "nothing was thrown; want '" + part + "'");
    } catch (const Failure& failure) {
      const std::string message = failure.what();
      that(failure.code == code && message.find(part) != std::string::npos,
           std::string(code_name(failure.code)) + " '" + message + "'; want '" + part + "'");
    }
  }

 private:
  const char* name_;
  long checks_ = 0, failed_ = 0;
};

// A temporary folder, removed with its contents.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "quern-XXXXXX").string();
    if (!mkdtemp(path.data())) abort();
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;

  std::string path(const std::string& name = "") const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& contents) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << contents;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

// The device with the tables for decoding plans.
struct Backend : CpuDevice {
  using CpuDevice::CpuDevice;
  void compute(Plan& plan, const int32_t* control) { run_plan(*this, plan, {.control = control}); }

  BufferTable buffers;
  WeightTable weights;
};

// An operand in a plan.
struct Place {
  Region region;
  std::vector<int32_t> shape;
  uint64_t offset = 0; // bytes
  int32_t id = 0;      // id of a weight or buffer
  DType dtype = DType::f32;
};

// Writes plans as core does (core/src/plan/encode.ts).
class PlanWriter {
 public:
  void op(const std::string& name, const std::vector<int32_t>& attributes, const std::vector<Place>& operands) {
    const OpSpec* spec = op_table;
    while (spec->name != name) spec++;
    const int32_t words = 4 + static_cast<int32_t>(attributes.size() + operands.size() * operand_words);
    add({spec->opcode, words, static_cast<int32_t>(attributes.size()), static_cast<int32_t>(operands.size())});
    words_.insert(words_.end(), attributes.begin(), attributes.end());
    for (const Place& place : operands) add_operand(place);
    ops_++;
  }

  std::vector<int32_t> words(int32_t arena_bytes, int32_t inputs_bytes, int32_t outputs_bytes) const {
    const auto length = static_cast<int32_t>(header_words + words_.size());
    std::vector<int32_t> all = {plan_magic, plan_version, ops_, length, arena_bytes, 0, inputs_bytes, 0, outputs_bytes};
    all.resize(header_words);
    all.insert(all.end(), words_.begin(), words_.end());
    return all;
  }

 private:
  void add(std::initializer_list<int32_t> words) { words_.insert(words_.end(), words); }

  void add_operand(const Place& place) {
    add({static_cast<int32_t>(place.region), place.id, static_cast<int32_t>(place.offset), 0,
         static_cast<int32_t>(place.dtype), static_cast<int32_t>(place.shape.size())});
    for (size_t i = 0; i < max_rank; i++) words_.push_back(i < place.shape.size() ? place.shape[i] : 0);
  }

  std::vector<int32_t> words_;
  int32_t ops_ = 0;
};

} // namespace quern::test
