#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tenure/base/site.h"

namespace tenure::check {

/// Collects what checks of this thread find wrong, from its making on; an outer one then gets
/// nothing.
class Findings {
 public:
  Findings();
  ~Findings();
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  const std::vector<std::string>& all() const { return all_; }
  bool empty() const { return all_.empty(); }

  /// For the checks: adds one to the innermost of this thread, with where it was found.
  static void add(const std::string& text);

 private:
  friend class Trace;
  Findings* outer_;
  std::vector<std::string> all_;
  std::vector<std::string> traces_;
};

/// While it lives, findings say that they were made there.
class Trace {
 public:
  explicit Trace(std::string text);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
};

/// A text put together by <<.
class Message {
 public:
  template <class T>
  Message& operator<<(const T& value) {
    text_ << value;
    return *this;
  }
  std::string str() const { return text_.str(); }
  operator std::string() const { return str(); }  // NOLINT(google-explicit-constructor)

 private:
  std::ostringstream text_;
};

/// Whether something holds, and why not.
class Verdict {
 public:
  explicit Verdict(bool holds) : holds_(holds) {}
  explicit operator bool() const { return holds_; }
  const std::string& text() const { return text_; }
  template <class T>
  Verdict& operator<<(const T& value) {
    std::ostringstream text;
    text << value;
    text_ += text.str();
    return *this;
  }

 private:
  bool holds_;
  std::string text_;
};

}  // namespace tenure::check
