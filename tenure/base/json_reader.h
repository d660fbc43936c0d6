#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tenure {

/// Reads a JSON text from front to back, a value at a time. It knows the line of everything, which
/// a tree of parsed values does not, so that errors about what a value means can name it too.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  /// Calls `member(key)` for each member of an object; that must read the value.
  template <class F>
  void read_object(const char* what, const F& member) {
    if (!begins('{', what)) return;
    do {
      const std::string key = read_string("a key");
      expect(':');
      member(key);
    } while (goes_on('}'));
  }

  /// Calls `item()` for each item of an array; that must read it.
  template <class F>
  void read_array(const char* what, const F& item) {
    if (!begins('[', what)) return;
    do {
      item();
    } while (goes_on(']'));
  }

  std::string read_string(const char* what);
  std::int64_t read_integer(const char* what);
  bool read_bool(const char* what);
  /// A string, or an integer as text.
  std::string read_name(const char* what);
  void skip_value();
  /// Throws unless only white space is left.
  void expect_end();

  /// Of what comes next.
  int line();
  /// Bytes read so far.
  std::size_t offset() const { return at_; }
  [[noreturn]] void fail(int line, const std::string& problem) const;

 private:
  char peek();
  void expect(char c);
  bool begins(char bracket, const char* what);
  bool goes_on(char bracket);
  [[noreturn]] void fail_here(const std::string& problem);
  /// "the end of the text", or the first characters of what comes next.
  std::string next_text();

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace tenure
