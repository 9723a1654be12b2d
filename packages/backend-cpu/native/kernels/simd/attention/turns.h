// The order in which a call with several heads passes over memory, and what it asks for beforehand.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// Calls body(head, some) for every head with the first keys of a block, then with the next …, TURN at most: turns end at
// multiples of it. A head has a short piece of a slot, and its next one lies a slot further on: memory is read in order only
// where the heads take turns. All pieces stay in the caches meanwhile.
template <int32_t TURN, class F>
inline void take_turns(const Attend& a, const Keys& keys, F body) {
  for (int32_t j = 0, next; j < keys.count; j = next) {
    next = smaller(((keys.first + j) / TURN + 1) * TURN - keys.first, keys.count);
    for (int32_t head = 0; head < a.heads; head++) body(head, Range{j, next});
  }
}

// Asks for all the call's heads of slots that come up, into the second cache: the first can wait for too few lines at once to
// keep the memory busy. It is to be asked for little at a time: a core that has asked for more lines than it can wait for
// does nothing else until some are there.
template <class T>
class Ahead {
 public:
  // Slots of `cache` from `slot` on, then those of `after`, if any, up to `slot`.
  Ahead(const Attend& a, const Keys& keys, const T* cache, const T* after, int32_t slot)
      : keys_(keys), cache_(cache), after_(after), turn_(slot), slot_(slot), bytes_(a.heads * cache_row(a.type, a.head_dim) * sizeof(T)) {
    open_slot();
  }

  [[gnu::always_inline]] inline void fetch(int64_t bytes) {
    for (due_ += bytes; due_ > 0 && line_; ) {
      __builtin_prefetch(line_, 0, 2);
      const int64_t rest = end_ - line_;
      due_ -= rest < 64 ? rest : 64;
      if (rest > 64) line_ += 64;
      else slot_++, open_slot();
    }
  }

 private:
  inline void open_slot() {
    if (slot_ >= keys_.count && after_) cache_ = after_, after_ = nullptr, end_slot_ = smaller(turn_, keys_.count), slot_ = 0;
    line_ = slot_ < end_slot_ ? reinterpret_cast<const char*>(cache_ + keys_.rows[slot_]) : nullptr;
    end_ = line_ + bytes_;
  }

  const Keys& keys_;
  const T* cache_;
  const T* after_;
  int32_t turn_, slot_, end_slot_ = keys_.count;
  int64_t bytes_, due_ = 0;
  const char* line_;
  const char* end_;
};

// Bytes of `count` keys or values of a head that each of `times` passes over them has to ask for.
template <class T>
inline int64_t fair_share(const Attend& a, int64_t count, int64_t times) {
  return (count * cache_row(a.type, a.head_dim) * int64_t(sizeof(T)) + times - 1) / times;
}

} // namespace
} // namespace quern::QUERN_ISA
