#include "emulated/block.h"

#include <atomic>

#include "emulated/fault.h"

namespace quern::gpu {

Block& Block::make_current() {
  static thread_local Block block;
  return *(current_ = &block);
}

// xorshift64* (Marsaglia 2003).
static uint64_t next(uint64_t& state) {
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d >> 32;
}

void Block::run(const Grid& grid, int index, const std::function<void()>& body) {
  static std::atomic<uint64_t> blocks{0};
  const int count = grid.threads;
  index_ = index, count_ = count, grid_ = grid.blocks, launch_ = grid.launch, running_ = grid.running, id_ = ++blocks;
  shared_bytes_ = grid.shared_bytes, declared_bytes_ = 0;
  shared_arrays_.clear();
  random_ = (grid.seed + 1) * 0x9e3779b97f4a7c15 + (uint64_t(index) * 0xbf58476d1ce4e5b9 | 1);
  begin_threads(count, body);
  large_ = {};
  beside_.begin_block();
  try {
    for (int left = count; left > 0;) {
      Thread& thread = take_ready();
      step(thread);
      left -= thread.ended;
    }
    beside_.end_block();
    if (declared_bytes_ != shared_bytes_) fault("the launch gives %zu bytes of shared memory, no array takes them", shared_bytes_);
  } catch (...) {
    self_ = nullptr;
    throw;
  }
  self_ = nullptr;
}

void Block::begin_threads(int count, const std::function<void()>& body) {
  if (threads_.size() < size_t(count)) threads_.resize(size_t(count));
  ready_.clear();
  waiting_.assign(size_t((count + WARP - 1) / WARP), 0);
  for (int i = 0; i < count; i++) {
    Thread& thread = threads_[size_t(i)];
    auto fibre = thread.fibre ? std::move(thread.fibre) : std::make_unique<Fibre>();
    thread = Thread{};
    thread.index = i, thread.ended = false;
    thread.fibre = std::move(fibre);
    thread.fibre->begin(body);
    ready_.push_back(i);
  }
}

// Once for each array of a block; every thread comes here.
void Block::need_shared_array(const char* name, size_t bytes) {
  size_t sum = bytes;
  for (const auto& [known, size] : shared_arrays_) {
    if (known == name) return;
    sum += size;
  }
  if (sum > most_shared_bytes) fault("shared %s: arrays of %zu bytes; a block has %zu", name, sum, most_shared_bytes);
  shared_arrays_.push_back({name, bytes});
}

void Block::need_large_array(const char* name, size_t bytes) {
  if (bytes != shared_bytes_) fault("shared %s has %zu bytes, the launch gives %zu", name, bytes, shared_bytes_);
  declared_bytes_ = bytes;
}

// Takes one of the threads that can go on.
Thread& Block::take_ready() {
  if (ready_.empty()) release_all();
  const size_t at = next(random_) * ready_.size() >> 32;
  Thread& thread = threads_[size_t(ready_[at])];
  ready_[at] = ready_.back();
  ready_.pop_back();
  return thread;
}

// Runs a thread until it waits or ends.
void Block::step(Thread& thread) {
  self_ = &thread;
  thread.wait = Wait::none;
  thread.ended = thread.fibre->resume();
  if (thread.ended && !thread.waited) fault("thread %d ends without previous_launches_done()", thread.index);
  if (thread.ended && !thread.copies.empty()) fault("thread %d ends before its asynchronous copies have landed", thread.index);
  if (thread.ended) return;
  if (thread.wait == Wait::warpgroup) release_warpgroup(thread.index / WARPGROUP * WARPGROUP);
  else if (thread.wait != Wait::barrier && thread.wait != Wait::phase) release_warp(thread.index / WARP);
}

void Block::meet_warpgroup(const void* instruction, const std::function<void()>& last) {
  if (self().index / WARPGROUP * WARPGROUP + WARPGROUP > count_) fault("an instruction of a whole warpgroup; the block has %d threads", count_);
  self().instruction = instruction, self().last = &last;
  meet(Wait::warpgroup);
}

void Block::release_warpgroup(int first) {
  Thread* const of = &threads_[size_t(first)];
  for (int i = 0; i < WARPGROUP; i++)
    if (of[i].ended || of[i].wait != Wait::warpgroup) return;
  for (int i = 1; i < WARPGROUP; i++)
    if (of[i].instruction != of[0].instruction)
      fault("threads %d and %d are at different instructions of their warpgroup", of[0].index, of[i].index);
  (*self().last)();
  for (int i = 0; i < WARPGROUP; i++) of[i].wait = Wait::none, ready_.push_back(of[i].index);
}

void Block::sleep(unsigned barrier, int parity) {
  self().barrier = barrier, self().parity = parity;
  meet(Wait::phase);
}

void Block::wake(unsigned barrier) {
  for (int i = 0; i < count_; i++) {
    Thread& thread = threads_[size_t(i)];
    if (thread.ended || thread.wait != Wait::phase || thread.barrier != barrier) continue;
    thread.wait = Wait::none;
    ready_.push_back(i);
  }
}

unsigned Block::shared_address(const void* at) const {
  const auto offset = static_cast<const uint8_t*>(at) - large_.bytes;
  if (!large_.bytes || offset < 0 || size_t(offset) > large_.size) fault("an address in shared memory that the launch does not give");
  return origin + unsigned(offset);
}

uint8_t* Block::shared_bytes(unsigned address, unsigned bytes, const char* act) const {
  if (address < origin || address - origin > large_.size || bytes > large_.size - (address - origin))
    fault("%s of %u bytes at byte %d of shared memory, which has %zu", act, bytes, int(address) - int(origin), large_.size);
  return large_.bytes + (address - origin);
}

void Block::meet(Wait wait) {
  Thread& me = self();
  me.wait = wait;
  me.fibre->pause();
}

float Block::exchange(float value, int from) {
  const int warp = self().index / WARP;
  need_whole(warp);
  if (from < 0 || from >= WARP) fault("thread %d takes a value of lane %d; its warp has %d lanes", self().index, from, WARP);
  self().shared_value = value;
  meet(Wait::shuffle);
  const float taken = lanes(warp)[from].shared_value;
  meet(Wait::shuffle); // nobody gives another value before all have taken this one
  return taken;
}

void Block::need_whole(int warp) const {
  if (lanes_of(warp) != WARP) fault("an instruction of a whole warp; warp %d has %d lanes", warp, lanes_of(warp));
}

void Block::warp_barrier() {
  need_whole(self().index / WARP);
  meet(Wait::warp_barrier);
}

void Block::need_same_instruction(int warp) const {
  const Thread* lane = &threads_[size_t(warp) * WARP];
  for (int i = 1; i < WARP; i++)
    if (lane[i].instruction != lane[0].instruction)
      fault("threads %d and %d are at different instructions of their warp", lane[0].index, lane[i].index);
}

// One more lane of the warp waits. The warp goes on when all its lanes wait for the same.
void Block::release_warp(int warp) {
  Thread* lane = lanes(warp);
  const int count = lanes_of(warp);
  if (++waiting_[size_t(warp)] < count) return;
  for (int i = 1; i < count; i++)
    if (lane[i].wait != lane[0].wait) return;
  if (lane[0].wait == Wait::instruction) need_same_instruction(warp);
  const bool orders = lane[0].wait == Wait::warp_barrier;
  for (int i = 0; i < count; i++) lane[i].now.warp += orders, lane[i].wait = Wait::none, ready_.push_back(lane[i].index);
  waiting_[size_t(warp)] = 0;
}

// No thread can go on: all wait for the block's barrier, or the kernel is wrong.
void Block::release_all() {
  for (int i = 0; i < count_; i++)
    if (threads_[size_t(i)].ended || threads_[size_t(i)].wait != Wait::barrier) stuck();
  for (int i = 0; i < count_; i++) {
    Thread& thread = threads_[size_t(i)];
    thread.wait = Wait::none;
    thread.now = {thread.now.block + 1, 0};
    ready_.push_back(i);
  }
}

void Block::stuck() const {
  static constexpr const char* waits[] = {"runs", "waits at a barrier", "waits for its warp", "waits in a shuffle", "waits in an instruction of its warp", "waits for its warpgroup", "waits for a phase"};
  const Thread* waiting = nullptr;
  const Thread* other = nullptr;
  for (int i = 0; i < count_; i++)
    if (!threads_[size_t(i)].ended && !waiting) waiting = &threads_[size_t(i)];
  for (int i = 0; i < count_; i++)
    if (threads_[size_t(i)].ended || threads_[size_t(i)].wait != waiting->wait) other = &threads_[size_t(i)];
  const auto described = [&](const Thread& thread) {
    return thread.ended ? "has ended" : thread.wait == Wait::phase ? beside_.waited_for(thread) : waits[int(thread.wait)];
  };
  if (!other) fault("block %d is stuck: thread %d %s, and so do all", index_, waiting->index, described(*waiting).c_str());
  fault("block %d is stuck: thread %d %s, thread %d %s", index_, waiting->index, described(*waiting).c_str(), other->index, described(*other).c_str());
}

} // namespace quern::gpu
