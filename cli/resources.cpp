#include "cli/resources.h"

// The file is taken in by the assembler: a list of numbers of its size would be slow to compile.
__asm__(
    ".section .rodata\n"
    ".global tenure_report_begin\n"
    ".global tenure_report_end\n"
    "tenure_report_begin:\n"
    ".incbin \"" TENURE_RESOURCES
    "/report.html\"\n"
    "tenure_report_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" const char tenure_report_begin[];  // NOLINT(modernize-avoid-c-arrays)
extern "C" const char tenure_report_end[];    // NOLINT(modernize-avoid-c-arrays)

namespace tenure::cli {

std::string_view report_template() {
  return {tenure_report_begin, static_cast<std::size_t>(tenure_report_end - tenure_report_begin)};
}

}  // namespace tenure::cli
