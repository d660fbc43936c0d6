#include "tenure/memory/region.h"

namespace tenure {

MemoryRegion::MemoryRegion() : begin_(memory()) {}

std::int64_t MemoryRegion::left_bytes() const { return memory().bytes - begin_.bytes; }
std::int64_t MemoryRegion::left_tensors() const { return memory().tensors - begin_.tensors; }
std::int64_t MemoryRegion::peak_bytes() const { return watch_.peak() - begin_.bytes; }
std::int64_t MemoryRegion::allocations() const { return memory().allocations - begin_.allocations; }
std::int64_t MemoryRegion::frees() const { return memory().frees - begin_.frees; }

}  // namespace tenure
