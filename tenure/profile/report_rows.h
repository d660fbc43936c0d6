#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenure/profile/history.h"
#include "tenure/profile/report_numbers.h"

namespace tenure::profile {

/// Columns of a report, one after the other.
class Columns {
 public:
  template <class T>
  void add(const char* name, const char* type, const std::vector<T>& values) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    places_.push_back({name, type, bytes_.size(), values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  /// The list of columns, which begin `base` bytes after the beginning.
  std::string describe(std::size_t base) const;
  const std::string& bytes() const { return bytes_; }

 private:
  struct Place {
    const char* name;
    const char* type;
    std::size_t offset;
    std::size_t length;
  };
  std::string bytes_;
  std::vector<Place> places_;
};

/// By device: what addresses are counted from, so that devices lie one after the other.
std::vector<double> origins_of_addresses(const History& history);

/// Adds the rows, and those of who shares storages. Returns how many rows there are.
std::size_t add_report_rows(const History& history, ReportNumbers& numbers, Columns& columns);

}  // namespace tenure::profile
