#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

namespace tenure::test {

/// Work that is done later: a thread of its own takes it out in order, now and then after a pause,
/// so that whoever queues it runs ahead. It is there until the process ends.
class LateQueue {
 public:
  LateQueue();
  LateQueue(const LateQueue&) = delete;
  LateQueue& operator=(const LateQueue&) = delete;

  /// May wait until the queue is shorter.
  void enqueue(std::function<void()> work, bool may_wait = true);
  /// Waits for it, and throws what it throws.
  void run_and_wait(const std::function<void()>& work);
  /// Waits for all that was queued before.
  void wait();
  /// How many pieces of work it was given.
  std::size_t queued() const;
  /// While `hold` is true nothing is taken out of the queue.
  void hold(bool hold);

 private:
  void work_through();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::size_t queued_ = 0;
  std::size_t done_ = 0;
  bool held_ = false;
  std::mt19937 pauses_{20261116};
  std::thread thread_;
};

}  // namespace tenure::test
