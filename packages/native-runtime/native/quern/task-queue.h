// One thread that runs tasks in the order in which they were posted.
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
  // Runs what has been posted, then ends the thread; twice is harmless. Nothing may be posted from now on.
  void stop();

 private:
  void work();
  Task take();

  const std::string name_;
  std::mutex mutex_;
  Condition posted_;
  std::deque<Task> tasks_;
  std::atomic<int> waiting_{0}; // tasks posted and not yet taken
  bool stopping_ = false;
  std::thread thread_;
};

} // namespace quern
