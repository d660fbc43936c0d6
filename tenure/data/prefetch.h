#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "tenure/data/dataset.h"
#include "tenure/memory/budget.h"

namespace tenure::data {

/// Makes the elements of a pass on a thread, up to so many ahead of who takes them. It may end at
/// any time; it then waits for the element in the making.
class Prefetch {
 public:
  Prefetch(std::shared_ptr<const Source> source, Position from, std::int64_t ahead);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  /// The next element; none at the end. Throws what making it threw, after all elements before it;
  /// then this is over.
  std::optional<Batch> next();
  /// A child of fork does not have the parent's thread: there it can only end.
  bool has_thread() const;

 private:
  /// What the thread and whoever takes the elements share.
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Batch> made{};
    std::exception_ptr problem{};
    bool is_over = false;  // no element comes any more
    bool stop = false;
    std::thread thread{};
  };
  void work();
  bool wait_for_room();

  const std::shared_ptr<const Source> source_;
  const Position from_;
  const std::int64_t ahead_;
  const Budget::Current budget_;
  const std::uint32_t generation_;  // of the process that has the thread
  std::unique_ptr<Queue> queue_;
};

}  // namespace tenure::data
