#include "tenure/data/prefetch.h"

#include <utility>

#include "tenure/kernels/thread_limit.h"
#include "tenure/memory/scope.h"

namespace tenure::data {
namespace {

/// Elements that wait are a cache; those handed over are what the program works with. Data that
/// others hold as well, such as the whole dataset, stays as it is.
void set_category(const Batch& batch, Category category) {
  for (const Tensor& tensor : batch) {
    TensorBody* const body = tensor.body_or_null();
    Pin pin;
    if (body == nullptr || !body->sole_handle() || !pin.try_take(*body)) continue;
    if (pin.storage()->is_shared()) continue;
    pin.storage()->set_category(mem::this_thread(), category);
  }
}

}  // namespace

Prefetch::Prefetch(std::shared_ptr<const Source> source, Position from, std::int64_t ahead)
    : source_(std::move(source)), from_(from), ahead_(ahead), thread_([this] { work(); }) {}

Prefetch::~Prefetch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Prefetch::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || static_cast<std::int64_t>(made_.size()) < ahead_; });
  return !stop_;
}

void Prefetch::work() {
  std::exception_ptr problem;
  try {
    const Budget::Enter enter(budget_);
    const NameScope name("prefetch");
    const ThreadLimit limit(1);  // the others belong to who computes with the elements
    for (std::int64_t place = from_.next; place < source_->size() && wait_for_room(); ++place) {
      Batch element = source_->at(from_.epoch, place);
      set_category(element, Category::cache);
      {
        const std::lock_guard lock(mutex_);
        made_.push_back(std::move(element));
      }
      changed_.notify_all();
    }
  } catch (...) {
    problem = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    problem_ = problem;
    is_over_ = true;
  }
  changed_.notify_all();
}

std::optional<Batch> Prefetch::next() {
  std::optional<Batch> element;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_ || !made_.empty(); });
    if (made_.empty()) {
      if (problem_ != nullptr) std::rethrow_exception(problem_);
      return std::nullopt;
    }
    element = std::move(made_.front());
    made_.pop_front();
  }
  changed_.notify_all();
  set_category(*element, Category::activation);
  return element;
}

}  // namespace tenure::data
