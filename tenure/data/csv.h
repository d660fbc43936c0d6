#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenure/base/asked.h"
#include "tenure/tensor/tensor.h"

namespace tenure::data {

struct CsvOptions {
  char separator = ',';
  /// The first line has the names; else they are "0", "1", ...
  bool header = true;
  /// Columns of these names are read as these types, and what does not fit is an error. The others
  /// are int64 if all fields are whole numbers, float32 if all are numbers or empty, else text.
  std::map<std::string, DType> types{};
  /// A file with more columns is refused: each is a tensor of its own, which takes some hundred
  /// bytes, while a column of a file may be a single comma.
  std::int64_t max_columns = 65'536;
};

/// A column of a table, one element for each row. Empty fields of numbers are NaN.
struct Column {
  std::string name;
  Tensor values;
  /// If it is text: the different fields in the order in which they first occur; `values` has the
  /// place of each in this list, as int64.
  std::vector<std::string> words{};
};

/// What a file of separated values holds.
struct Table {
  std::int64_t rows = 0;
  std::vector<Column> columns{};

  /// Throws ValueError if there is no column of this name.
  const Column& column(const std::string& name, Site site = Site::current()) const;
  const Tensor& operator[](const Asked<std::string>& name) const {
    return column(name.value, name.site).values;
  }
};

/// Reads a file of values with separators. Fields in double quotes may have separators, line ends
/// and doubled quotes; lines end with LF or CR LF, and empty ones are skipped. It takes the file's
/// size, what the table holds (8 bytes a field at most, and its words), 640 bytes a column, and
/// while it reads 128 for each different word. Throws FileError, FormatError with line and column,
/// and ValueError for types of columns that there are not.
Table read_csv(const std::string& path, const CsvOptions& options = {},
               Site site = Site::current());

}  // namespace tenure::data
