// One thread that runs tasks in the order of `post`.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "quern/condition.h"

namespace quern {

class TaskQueue {
 public:
  using Task = std::function<void()>; // must not throw

  explicit TaskQueue(std::string name);
  ~TaskQueue() { stop(); }
  TaskQueue(const TaskQueue&) = delete;

  void post(Task task);
  // Runs all posted tasks, then ends the thread. Safe to call twice. `post` must not follow.
  void stop();

 private:
  void work();
  Task take();

  const std::string name_;
  std::mutex mutex_;
  Condition posted_;
  std::deque<Task> tasks_;
  std::atomic<int> waiting_{0}; // posted tasks that no thread has taken
  bool stopping_ = false;
  std::thread thread_;
};

} // namespace quern
