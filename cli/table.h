#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace tenure::cli {

/// Rows under a heading; the last column takes what room is left and goes on in further lines, or
/// in lines of its own where little is left, with those before it that do not fit either. Columns
/// whose heading begins with '>' are aligned to the right.
void print_table(const Terminal& terminal, const std::vector<std::string>& heading,
                 const std::vector<std::vector<std::string>>& rows);

/// `text` in at most `most` lines of `width` characters. A word that is longer loses its beginning,
/// since a line of source has its number at the end; what does not fit ends in '~'.
std::vector<std::string> lines_of(const std::string& text, std::size_t width, std::size_t most = 4);

/// What stands over a table, in as many lines as it takes, after an empty one.
void print_heading(const Terminal& terminal, const std::string& text);

/// A sentence below a heading, in as many lines as it takes.
void print_indented(const Terminal& terminal, const std::string& text);

/// A text beside an amount, in as many lines as it takes.
void print_beside(const Terminal& terminal, const std::string& amount, const std::string& text,
                  bool is_dim = false);

/// How many characters a text takes.
std::size_t width_of(const std::string& text);

}  // namespace tenure::cli
