#include "python/src/core/sites.h"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "python/src/core/cells.h"
#include "python/src/core/frame.h"
#include "tenure/base/made_site.h"

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

namespace tenure::python {
namespace {

std::string& package_folder() {
  static auto* const folder = new std::string;
  return *folder;
}
std::string& library_folder() {
  static auto* const folder = new std::string;
  return *folder;
}
bool is_in(std::string_view file, const std::string& folder) {
  return !folder.empty() && file.starts_with(folder);
}
/// Of Python itself, beside which installed packages lie.
bool is_of_library(std::string_view file) {
  if (file.starts_with("<frozen ")) return true;
  return is_in(file, library_folder()) && file.find("-packages/") == std::string_view::npos;
}
Ref& operand_finder() {
  static auto* const function = new Ref;
  return *function;
}

const char* interned(const char* characters) {
  static auto* const texts = new std::unordered_set<std::string>;
  return texts->emplace(characters).first->c_str();
}

/// What is known of one code object; it ends with that. Its places stay: tensors name them.
struct KnownCode {
  const char* file = "";
  const char* function = "";
  bool is_package = false;
  bool is_library = false;
  std::vector<Site> sites;             // by instruction; unknown ones have line 0
  std::vector<std::int32_t> operands;  // see set_operand_finder(); empty until somebody asks
};

void forget(void* known) { delete static_cast<KnownCode*>(known); }

Py_ssize_t slot() {
  static const Py_ssize_t index = PyUnstable_Eval_RequestCodeExtraIndex(forget);
  return index;
}

std::unique_ptr<KnownCode> look_at(PyCodeObject* code) {
  auto known = std::make_unique<KnownCode>();
  const char* const file = PyUnicode_AsUTF8(code->co_filename);
  const char* const function = PyUnicode_AsUTF8(code->co_name);
  PyErr_Clear();
  known->file = interned(file == nullptr ? "(unknown)" : file_name(file).c_str());
  known->function = interned(function == nullptr ? "" : function);
  known->is_package = is_in(known->file, package_folder());
  known->is_library = is_of_library(known->file);
  known->sites.resize(instructions_of(code));
  return known;
}

KnownCode* known_code(PyCodeObject* code) noexcept {
  void* extra = nullptr;
  if (PyUnstable_Code_GetExtra(reinterpret_cast<PyObject*>(code), slot(), &extra) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  if (extra != nullptr) return static_cast<KnownCode*>(extra);
  try {
    std::unique_ptr<KnownCode> known = look_at(code);
    if (PyUnstable_Code_SetExtra(reinterpret_cast<PyObject*>(code), slot(), known.get()) != 0) {
      PyErr_Clear();
      return nullptr;
    }
    return known.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Site find_site(const KnownCode& known, PyCodeObject* code, std::size_t instruction) {
  // One place for a line, however many instructions and copies of the code it has.
  static auto* const places = new std::unordered_map<std::string, const Place*>;
  const int line = PyCode_Addr2Line(code, static_cast<int>(instruction) * 2);
  std::string key = std::string(known.file) + '\0' + known.function + '\0' + std::to_string(line);
  const Place*& place = (*places)[std::move(key)];
  if (place == nullptr) {
    place = new Place{.file = known.file,
                      .function = known.function,
                      .line = static_cast<std::uint32_t>(line < 0 ? 0 : line)};
  }
  return site_at(*place);
}

/// Where an instruction finds its operands, as set_operand_finder() says.
int operands_of(KnownCode& known, PyCodeObject* code, std::size_t instruction) {
  if (known.operands.empty()) {
    known.operands.assign(known.sites.size(), -1);
    if (!operand_finder()) return -1;
    const Ref found =
        Ref::take(PyObject_CallOneArg(operand_finder().get(), reinterpret_cast<PyObject*>(code)));
    for (std::size_t i = 0; found && i < known.operands.size(); ++i) {
      PyObject* const place = PyList_GetItem(found.get(), static_cast<Py_ssize_t>(i));
      if (place == nullptr) break;
      known.operands[i] = static_cast<std::int32_t>(PyLong_AsLong(place));
    }
    PyErr_Clear();  // what is not known is no temporary
  }
  return known.operands[instruction];
}

}  // namespace

void set_package_folder(const char* folder) { package_folder() = folder; }
void set_library_folder(const char* folder) { library_folder() = folder; }
void set_operand_finder(PyObject* function) { operand_finder() = Ref::to(function); }

Site caller() noexcept {
  Site of_library{};  // for what nobody else has called: a thread of a pool, say
  for (Frame frame = Frame::running(); frame; frame = frame.outer()) {
    PyCodeObject* const code = frame.code();
    KnownCode* const known = known_code(code);
    if (known == nullptr) return {};
    if (known->is_package) continue;
    if (known->is_library && of_library.line() != 0) continue;
    const std::size_t instruction = frame.instruction();
    if (instruction >= known->sites.size()) return {};
    Site& site = known->sites[instruction];
    if (site.line() == 0) {
      try {
        site = find_site(*known, code, instruction);
      } catch (const std::bad_alloc&) {
        return {};
      }
    }
    if (!known->is_library) return site;
    of_library = site;
  }
  return of_library;
}

bool is_dying_argument(PyObject* const* place) noexcept {
  return Py_REFCNT(*place) == 1 && Frame::running().has_on_stack(place);
}

bool is_dying_operand(PyObject* operand, PyObject* a, PyObject* b) noexcept {
  if (Py_REFCNT(operand) != 1) return false;
  const Frame frame = Frame::running();
  if (!frame || frame.stack() == nullptr) return false;
  KnownCode* const known = known_code(frame.code());
  if (known == nullptr || frame.instruction() >= known->sites.size()) return false;
  int place = -1;
  try {
    place = operands_of(*known, frame.code(), frame.instruction());
  } catch (const std::bad_alloc&) {
  }
  if (place < 0 || (place % 2 == 1) != (b != nullptr)) return false;
  PyObject* const* const operands = frame.stack() + place / 2;
  return operands[0] == a && (b == nullptr || operands[1] == b);
}

}  // namespace tenure::python
