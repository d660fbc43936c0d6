#pragma once

namespace tenure {

/// Ops that the thread runs while this lives use at most so many threads: for a thread that works
/// beside another one. It must end on its thread, the innermost first.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads) noexcept;
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int outer_;
};

}  // namespace tenure
