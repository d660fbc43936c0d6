#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace tenure::cli {

/// Rows under a heading; the last column takes what room is left and is cut there. Columns whose
/// heading begins with '>' are aligned to the right.
void print_table(const Terminal& terminal, const std::vector<std::string>& heading,
                 const std::vector<std::vector<std::string>>& rows);

/// How many characters a text takes.
std::size_t width_of(const std::string& text);

}  // namespace tenure::cli
