#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenure/profile/recorded.h"

namespace tenure::profile {

/// Gives numbers to what repeats, from 1 up; 0 is for nothing.
template <class Key>
class Numbers {
 public:
  std::uint32_t operator()(const Key& key) {
    const auto [found, is_new] =
        numbers_.try_emplace(key, static_cast<std::uint32_t>(list_.size() + 1));
    if (is_new) list_.push_back(key);
    return found->second;
  }
  const std::vector<Key>& list() const { return list_; }

 private:
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Key> list_;
};

/// What the page knows an origin by.
struct ReportPlace {
  std::uint32_t op = 0;
  std::uint32_t site = 0;
  std::uint32_t scope = 0;
  std::uint32_t calls = 0;  ///< a string: the calls that led there, one a line
};

/// The numbers by which a page knows texts, lines, layers and ops.
class ReportNumbers {
 public:
  explicit ReportNumbers(const Recorded& recorded) : recorded_(recorded) {}

  ReportPlace place(std::uint32_t origin);
  /// Of a text of the recording.
  std::uint32_t op(std::string_view op);
  std::uint32_t scope(std::string_view scope);
  std::uint32_t string(const std::string& text) { return strings_(text); }

  const std::vector<std::string>& strings() const { return strings_.list(); }
  const std::vector<std::pair<std::string, std::uint32_t>>& sites() const { return sites_.list(); }
  const std::vector<std::string>& scopes() const { return scopes_.list(); }
  const std::vector<std::string>& ops() const { return ops_.list(); }

 private:
  const Recorded& recorded_;
  Numbers<std::string> strings_;
  Numbers<std::pair<std::string, std::uint32_t>> sites_;
  Numbers<std::string> scopes_;
  Numbers<std::string> ops_;
  std::unordered_map<std::uint32_t, ReportPlace> places_;
  std::unordered_map<const char*, std::uint32_t> op_numbers_;
  std::unordered_map<std::string_view, std::uint32_t> scope_numbers_;
};

}  // namespace tenure::profile
