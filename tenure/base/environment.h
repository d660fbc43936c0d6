#pragma once

namespace tenure {

/// A variable of the environment that changes what the library does, or nullptr. A program that
/// runs with more rights than its caller (setuid, file capabilities) obeys none: its caller would
/// choose which files it writes.
const char* environment(const char* name);

}  // namespace tenure
