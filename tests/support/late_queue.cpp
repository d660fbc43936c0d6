#include "tests/support/late_queue.h"

#include <chrono>
#include <exception>
#include <utility>

namespace tenure::test {
namespace {

constexpr std::size_t kLongest = 1024;

}  // namespace

LateQueue::LateQueue() : thread_([this] { work_through(); }) {
  thread_.detach();  // it ends with the process
}

void LateQueue::wait() {
  std::unique_lock lock(mutex_);
  const std::size_t last = queued_;
  changed_.wait(lock, [&] { return done_ >= last; });
}

void LateQueue::run_and_wait(const std::function<void()>& work) {
  std::exception_ptr problem;
  enqueue([&] {
    try {
      work();
    } catch (...) {
      problem = std::current_exception();
    }
  });
  wait();
  if (problem != nullptr) std::rethrow_exception(problem);
}

void LateQueue::enqueue(std::function<void()> work, bool may_wait) {
  {
    std::unique_lock lock(mutex_);
    if (may_wait) changed_.wait(lock, [&] { return queue_.size() < kLongest || held_; });
    queue_.push_back(std::move(work));
    ++queued_;
  }
  changed_.notify_all();
}

void LateQueue::work_through() {
  while (true) {
    std::function<void()> work;
    bool pauses = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !queue_.empty() && !held_; });
      work = std::move(queue_.front());
      queue_.pop_front();
      pauses = pauses_() % 64 == 0;
    }
    if (pauses) std::this_thread::sleep_for(std::chrono::microseconds(100));
    work();
    work = nullptr;  // what it holds ends before others hear of it
    {
      const std::lock_guard lock(mutex_);
      ++done_;
    }
    changed_.notify_all();
  }
}

std::size_t LateQueue::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

void LateQueue::hold(bool hold) {
  {
    const std::lock_guard lock(mutex_);
    held_ = hold;
  }
  changed_.notify_all();
}

}  // namespace tenure::test
