// JavaScript memory that a plan uses.
#pragma once
#include <napi.h>

#include <span>
#include <vector>

#include "quern/addon/host-pages.h"

namespace quern {

// An ArrayBuffer for a plan. The plan uses pages of the addon. If HostPages made the ArrayBuffer, these are the
// ArrayBuffer's own pages. Otherwise they are other pages: bytes are copied in before a run and out after it, on the
// JavaScript thread. Made and destroyed on the JavaScript thread.
class LentBuffer {
 public:
  LentBuffer(const Napi::Value& value, const char* name, const HostPages& own);

  uint8_t* data() const { return pages_->data(); }
  uint64_t bytes() const { return bytes_; }
  // Before and after a run. Both throw BAD_ARGUMENT if JavaScript has transferred or resized the ArrayBuffer.
  void copy_in() const;
  void copy_out() const;

 private:
  std::span<uint8_t> in_place() const;

  const char* name_;
  Napi::ObjectReference buffer_;
  const uint8_t* place_;
  uint64_t bytes_;
  bool shown_; // pages_ are the ArrayBuffer's own
  std::shared_ptr<const Buffer> pages_;
};

// A typed array that receives results of a run. During the run the elements lie in memory of the addon.
template <class Element>
class LentArray {
 public:
  LentArray() = default;
  LentArray(const Napi::Value& value, const char* name, std::span<Element> elements)
      : name_(name), array_(Napi::Persistent(value.As<Napi::Object>())), place_(elements.data()), own_(elements.size()) {}

  std::span<Element> own() { return own_; }
  size_t count() const { return own_.size(); }
  // Throws BAD_ARGUMENT if JavaScript has transferred or resized the array.
  void need_in_place() const { in_place(); }
  void copy_out() const {
    if (!array_.IsEmpty()) std::copy(own_.begin(), own_.end(), in_place().begin());
  }
  // During the run: elements [from, to), which the run may write meanwhile.
  void copy_out(size_t from, size_t to) const {
    const auto place = in_place();
    for (size_t i = from; i < to; i++) place[i] = __atomic_load_n(&own_[i], __ATOMIC_RELAXED);
  }

 private:
  std::span<Element> in_place() const;

  const char* name_ = "";
  Napi::ObjectReference array_;
  const Element* place_ = nullptr;
  std::vector<Element> own_;
};

// An Int32Array in memory that JavaScript cannot free: a SharedArrayBuffer, or HostPages.
class LentWords {
 public:
  // Throws BAD_ARGUMENT for fewer than `least` words.
  LentWords(const Napi::Value& value, const char* name, const HostPages& own, size_t least);
  int32_t* data() const { return words_.data(); }
  size_t count() const { return words_.size(); }

 private:
  Napi::ObjectReference array_;
  std::shared_ptr<const Buffer> pages_;
  std::span<int32_t> words_;
};

} // namespace quern
