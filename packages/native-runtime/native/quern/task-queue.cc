#include "quern/task-queue.h"

#include "quern/spin.h"
#include "quern/thread-name.h"

namespace quern {

TaskQueue::TaskQueue(std::string name) : name_(std::move(name)), thread_(&TaskQueue::work, this) {}

void TaskQueue::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  posted_.wake_one();
  thread_.join();
}

void TaskQueue::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    waiting_++;
  }
  posted_.wake_one();
}

void TaskQueue::work() {
  name_thread(name_);
  while (Task task = take()) task();
}

// The next task; an empty task at the end.
TaskQueue::Task TaskQueue::take() {
  spin([&] { return waiting_.load(std::memory_order_relaxed) > 0; });
  std::unique_lock lock(mutex_);
  posted_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
  if (tasks_.empty()) return {};
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  waiting_--;
  return task;
}

} // namespace quern
