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

 private:
  void work();
  bool wait_for_room();

  const std::shared_ptr<const Source> source_;
  const Position from_;
  const std::int64_t ahead_;
  const Budget::Current budget_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> made_;
  std::exception_ptr problem_;
  bool is_over_ = false;  // no element comes any more
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tenure::data
