#include "tenure/profile/call_stack.h"

#include <elf.h>
#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "tenure/profile/file.h"

namespace tenure::profile {

CallStack CallStack::capture() noexcept {
  CallStack stack;
  const auto visit = [](_Unwind_Context* context, void* to) {
    auto& found = *static_cast<CallStack*>(to);
    int is_exact = 0;
    const std::uintptr_t next = _Unwind_GetIPInfo(context, &is_exact);
    if (next == 0 || found.size_ == kMost) return _URC_END_OF_STACK;
    // It is where a call returns to, and that may be another line than the call's.
    found.add(is_exact != 0 ? next : next - 1);
    return _URC_NO_REASON;
  };
  _Unwind_Backtrace(visit, &stack);
  return stack;
}

std::uint64_t CallStack::hash() const noexcept {
  std::uint64_t hash = size_;
  for (const std::uintptr_t address : addresses()) {
    hash = (hash ^ address) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

std::string build_id_in(std::span<const std::byte> notes) {
  using Note = ElfW(Nhdr);
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (notes.size() >= sizeof(Note)) {
    Note note;
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    const std::size_t name = padded(note.n_namesz);
    const std::size_t content = padded(note.n_descsz);
    if (name > notes.size() || content > notes.size() - name) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes.data(), "GNU", 4) == 0) {
      return {reinterpret_cast<const char*>(notes.data() + name), note.n_descsz};
    }
    notes = notes.subspan(name + content);
  }
  return {};
}

namespace {

/// One pass over what is loaded.
struct Search {
  std::span<const std::uintptr_t> addresses;
  Located found;
  std::exception_ptr failure;

  void look_at(const dl_phdr_info& loaded);
};

void Search::look_at(const dl_phdr_info& loaded) {
  const std::span segments(loaded.dlpi_phdr, loaded.dlpi_phnum);
  const auto has = [&](std::uintptr_t address) {
    return std::any_of(segments.begin(), segments.end(), [&](const auto& segment) {
      return segment.p_type == PT_LOAD &&
             address - (loaded.dlpi_addr + segment.p_vaddr) < segment.p_memsz;
    });
  };
  std::size_t number = 0;  // of this module, from 1 up, once an address is in it
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (!has(addresses[i])) continue;
    if (number == 0) {
      Module module{.path = loaded.dlpi_name, .build_id = {}};
      if (module.path.empty()) module.path = program_path();
      for (const auto& segment : segments) {
        if (segment.p_type != PT_NOTE || !module.build_id.empty()) continue;
        module.build_id =
            build_id_in({reinterpret_cast<const std::byte*>(loaded.dlpi_addr + segment.p_vaddr),
                         segment.p_memsz});
      }
      found.modules.push_back(std::move(module));
      number = found.modules.size();
    }
    found.addresses[i] = {number - 1, addresses[i] - loaded.dlpi_addr};
  }
}

}  // namespace

Located locate(std::span<const std::uintptr_t> addresses) {
  Search search{.addresses = addresses, .found = {}, .failure = {}};
  search.found.modules.emplace_back();  // code that was made at run time
  search.found.addresses.resize(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    search.found.addresses[i].offset = addresses[i];
  }
  dl_iterate_phdr(
      [](dl_phdr_info* loaded, std::size_t, void* to) {
        auto& search = *static_cast<Search*>(to);
        try {
          search.look_at(*loaded);
          return 0;
        } catch (...) {  // not through the C library
          search.failure = std::current_exception();
          return 1;
        }
      },
      &search);
  if (search.failure) std::rethrow_exception(search.failure);
  return std::move(search.found);
}

}  // namespace tenure::profile
