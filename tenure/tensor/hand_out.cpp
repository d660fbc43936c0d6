#include "tenure/tensor/hand_out.h"

#include "tenure/memory/holders/evictable.h"
#include "tenure/memory/threads/call.h"

namespace tenure {

void* hand_out(TensorBody& tensor, HandedOut use, const char* call, Site site) {
  return mem::in_call(call, site, [&] {
    const Pin pin(tensor, call, site);
    mem::Storage& storage = *pin.storage();
    const bool is_written = use == HandedOut::to_write;
    if (storage.is_tracked()) mem::expose(storage, is_written);
    if (is_written) storage.note_write(site);
    return pin.data();
  });
}

}  // namespace tenure
