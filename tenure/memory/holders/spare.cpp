#include "tenure/memory/holders/spare.h"

#include <exception>
#include <mutex>
#include <utility>

#include "tenure/memory/budget.h"
#include "tenure/memory/threads/fork.h"

namespace tenure::mem {
namespace {

constinit std::mutex all_mutex;
constinit Spare* oldest = nullptr;
constinit Spare* newest = nullptr;

void release(Storage* storage) noexcept {
  if (storage != nullptr) storage->release();
}

}  // namespace

std::mutex& spare_mutex() noexcept { return all_mutex; }

Storage* Spare::allocate(ThreadContext& context, Device device, std::size_t bytes) noexcept {
  if ((context.attention & kAttendFault) != 0 || !has_free_room(context, device, bytes)) {
    return nullptr;
  }
  const Category before = std::exchange(context.category, Category::cache);
  Storage* storage = nullptr;
  try {
    storage = Storage::allocate(context, device, bytes);
  } catch (const std::exception&) {  // somebody else was faster, or the system has none
  }
  context.category = before;
  return storage;
}

Storage* Spare::take_out() noexcept {
  if (storage_ == nullptr) return nullptr;
  (before_ == nullptr ? oldest : before_->behind_) = behind_;
  (behind_ == nullptr ? newest : behind_->before_) = before_;
  before_ = behind_ = nullptr;
  return std::exchange(storage_, nullptr);
}

void Spare::keep(Storage* storage, std::uint64_t tag) noexcept {
  Storage* ended = nullptr;
  {
    const std::lock_guard lock(all_mutex);
    ended = take_out();
    storage_ = storage;
    tag_ = tag;
    before_ = std::exchange(newest, this);
    (before_ == nullptr ? oldest : before_->behind_) = this;
  }
  release(ended);
}

Storage* Spare::find(std::uint64_t tag) noexcept {
  Storage* ended = nullptr;
  {
    const std::lock_guard lock(all_mutex);
    if (storage_ == nullptr) return nullptr;
    if (tag_ == tag) {
      storage_->retain();
      return storage_;
    }
    ended = take_out();
  }
  release(ended);
  return nullptr;
}

void Spare::give_up() noexcept {
  Storage* ended = nullptr;
  {
    const std::lock_guard lock(all_mutex);
    ended = take_out();
  }
  release(ended);
}

bool give_up_spare(const BudgetAccount* refusing, Device device) noexcept {
  Storage* ended = nullptr;
  {
    const std::lock_guard lock(all_mutex);
    for (Spare* spare = oldest; spare != nullptr && ended == nullptr; spare = spare->behind_) {
      Storage& storage = *spare->storage_;
      if (storage.device() != device || storage.is_shared()) continue;
      if (refusing != nullptr && !BudgetAccount::counts_in(storage.budget(), device, *refusing)) {
        continue;
      }
      ended = spare->take_out();
      break;
    }
  }
  release(ended);
  return ended != nullptr;
}

}  // namespace tenure::mem
