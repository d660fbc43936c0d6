#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace tenure {

/// An array whose size is known when it is made; up to `few` elements lie in it, more on the heap.
/// Elements are default-initialized: numbers and pointers have no value yet.
template <class T, std::size_t few>
class SmallArray {
 public:
  explicit SmallArray(std::size_t size) : size_(size) {
    if (size > few) {
      heap_ = std::make_unique_for_overwrite<T[]>(size);
      data_ = heap_.get();
    } else {
      data_ = reinterpret_cast<T*>(room_);
      std::uninitialized_default_construct_n(data_, size);
    }
  }
  ~SmallArray() {
    if (heap_ == nullptr) std::destroy_n(data_, size_);
  }
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }

 private:
  std::size_t size_;
  T* data_;
  std::unique_ptr<T[]> heap_;
  alignas(T) std::byte room_[few * sizeof(T)];
};

}  // namespace tenure
