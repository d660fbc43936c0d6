#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/base/site.h"

namespace tenure {

/// Root of everything Tenure throws. The text says what happened and what to do about it; the
/// fields of the derived types say the same to a program.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text), text_(text) { show_nul(); }

  const char* what() const noexcept override { return text_.c_str(); }
  /// Adds a line; whoever passes an error on may say what is known there.
  void add_line(const std::string& line) {
    text_ += "\n  " + line;
    show_nul();
  }
  /// The same, with the line of the user's that it happened at.
  void add_place(const std::string& line) {
    add_line(line);
    has_place_ = true;
  }
  /// Whether the text names a line of the user's; nobody further out adds another then.
  bool has_place() const noexcept { return has_place_; }

 protected:
  struct Placed {};
  /// The text names a line of the user's.
  Error(const std::string& text, Placed /*mark*/) : Error(text) { has_place_ = true; }

 private:
  /// A name may hold the byte that ends what().
  void show_nul();

  std::string text_;
  bool has_place_ = false;
};

/// An argument is out of its domain: a negative size, a step of zero, a bad equation.
class ValueError : public Error {
 public:
  using Error::Error;
};

/// Shapes do not fit each other or the operation.
class ShapeError : public Error {
 public:
  using Shapes = std::vector<std::vector<std::int64_t>>;
  ShapeError(std::string_view op, const std::string& problem, Shapes shapes = {});

  const std::string& op() const { return op_; }
  const Shapes& shapes() const { return shapes_; }

 private:
  std::string op_;
  Shapes shapes_;
};

/// An operation does not take this element type.
class DTypeError : public Error {
 public:
  DTypeError(std::string_view op, const std::string& problem);

  const std::string& op() const { return op_; }

 private:
  std::string op_;
};

/// An index or an axis lies outside its range.
class IndexError : public Error {
 public:
  IndexError(std::string_view op, const std::string& problem, std::int64_t index,
             std::int64_t size);

  const std::string& op() const { return op_; }
  std::int64_t index() const { return index_; }
  /// The index must lie in [-size, size).
  std::int64_t size() const { return size_; }

 private:
  std::string op_;
  std::int64_t index_;
  std::int64_t size_;
};

/// A handle without a tensor was used: default-constructed, or moved from.
class EmptyTensorError : public Error {
 public:
  EmptyTensorError(std::string_view user, Site used);

  Site used() const { return used_; }

 private:
  Site used_;
};

/// The data of a disposed tensor was asked for.
class DisposedError : public Error {
 public:
  struct Facts {
    std::uint64_t id = 0;
    std::string tensor;      ///< what it was: name, dtype and shape
    std::string created_by;  ///< the op that made it
    Site created;
    std::string disposed_by;  ///< "dispose()" or the scope that ended
    Site disposed;
    std::string used_by;  ///< the op or accessor that wanted the data
    Site used;
  };
  explicit DisposedError(Facts facts);

  const Facts& facts() const { return facts_; }
  std::uint64_t id() const { return facts_.id; }
  Site created() const { return facts_.created; }
  Site disposed() const { return facts_.disposed; }
  Site used() const { return facts_.used; }

 private:
  Facts facts_;
};

/// A symbolic tensor was asked for data, or used where its graph or trace does not reach.
class SymbolError : public Error {
 public:
  SymbolError(std::string_view user, const std::string& symbol, const std::string& problem,
              Site created, Site used);

  /// What it stands for: `placeholder "x" of graph "model"`.
  const std::string& symbol() const { return symbol_; }
  Site created() const { return created_; }
  Site used() const { return used_; }

 private:
  std::string symbol_;
  Site created_;
  Site used_;
};

/// A session was used after close().
class ClosedError : public Error {
 public:
  ClosedError(const std::string& what, Site closed, Site used);

  Site closed() const { return closed_; }
  Site used() const { return used_; }

 private:
  Site closed_;
  Site used_;
};

/// A graph cannot be built or run as asked: it is final, a feed is missing, a name is taken.
class GraphError : public Error {
 public:
  GraphError(const std::string& problem, Site site);

  Site site() const { return site_; }

 private:
  Site site_;
};

/// The memory of a tensor cannot be given to a function that was to compute in it.
class DonationError : public Error {
 public:
  using Error::Error;
};

/// A group of tensors made by one op on one source line.
struct HolderGroup {
  std::string op;
  Site site;
  std::int64_t tensors = 0;  ///< live ones
  std::int64_t bytes = 0;
  std::int64_t disposed = 0;  ///< disposed ones whose handles remain; each has its record still
};

/// An allocation would pass a budget, or the system or a device has no more memory. Nothing was
/// changed: every tensor that existed is still valid, so the caller may free some and try again.
class OutOfMemory : public Error {
 public:
  enum class Cause { budget, system, injected };
  struct Facts {
    Cause cause = Cause::system;
    std::string device = "cpu";  ///< that has no more, as name_of() writes it
    std::size_t requested = 0;
    std::string budget;  ///< name of the budget that refused; empty for the system
    std::size_t limit = 0;
    std::size_t used = 0;
    std::size_t cached = 0;  ///< free bytes that the device's pool keeps
    /// The holders of most bytes on the device; if a budget refused, of those that count in it.
    std::vector<HolderGroup> largest;
  };
  explicit OutOfMemory(Facts facts);

  const Facts& facts() const { return facts_; }
  Cause cause() const { return facts_.cause; }
  const std::string& device() const { return facts_.device; }
  std::size_t requested() const { return facts_.requested; }
  const std::string& budget() const { return facts_.budget; }

 private:
  Facts facts_;
};

/// A loop guarded by LeakGuard holds more and more.
class LeakError : public Error {
 public:
  struct Growth {
    HolderGroup group;
    std::int64_t tensors_before = 0;
    std::int64_t bytes_before = 0;
    std::int64_t disposed_before = 0;
  };
  LeakError(const std::string& text, std::vector<Growth> growing);

  const std::vector<Growth>& growing() const { return growing_; }

 private:
  std::vector<Growth> growing_;
};

/// The system would not open, read, write or rename a file.
class FileError : public Error {
 public:
  /// `action` as in "cannot open"; `code` is the system's number, as in errno.
  FileError(std::string_view action, const std::string& path, int code);

  const std::string& path() const { return path_; }
  int code() const { return code_; }

 private:
  std::string path_;
  int code_;
};

/// A file is not what its format promises: cut short, damaged, hostile, or of another kind.
class FormatError : public Error {
 public:
  FormatError(const std::string& path, std::uint64_t offset, const std::string& problem);

  const std::string& path() const { return path_; }
  /// The byte of the file that `problem` is about.
  std::uint64_t offset() const { return offset_; }

 private:
  std::string path_;
  std::uint64_t offset_;
};

/// A promise Tenure makes to itself was broken: a bug of the library, never of its user.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& problem, Site site = Site::current());
};

/// Throws InternalError unless `holds`.
inline void internal_check(bool holds, const char* promise, Site site = Site::current()) {
  if (!holds) [[unlikely]]
    throw InternalError(promise, site);
}

/// "file.cpp:12", with the directories dropped.
std::string to_string(Site site);

}  // namespace tenure
