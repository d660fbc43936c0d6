#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tenure/profile/queries.h"

namespace tenure::cli {

/// Storages of one kind and shape, held by the same lines.
struct Alike {
  const profile::StorageLife* first = nullptr;
  std::int64_t storages = 0;
  std::int64_t bytes = 0;
  std::int64_t idle_ns = 0;  ///< the longest until the end
  /// Of each storage, those that are alike taken together.
  struct Holder {
    profile::LiveHolder one;
    std::int64_t number = 0;
    std::set<std::string> names{};  ///< in all storages
  };
  std::vector<Holder> holders{};
};
/// The largest first; if asked, those that different lines made apart.
std::vector<Alike> alike(const profile::History& history, const std::vector<profile::Held>& held,
                         bool by_maker);

/// "2 x tape, made by matmul at model.cpp:12"; "user w1, w2, w3 and 4 more, made by ...".
std::string holder_text(const Alike::Holder& holder, const profile::Recorded& recorded);

/// What is live at the end and who holds it: what is alike is one entry, the `rows` largest.
void print_held(const profile::History& history, std::size_t rows);

}  // namespace tenure::cli
