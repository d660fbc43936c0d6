import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import unite_tests  # noqa: E402


class UniteTestsTest(unittest.TestCase):
    def test_what_a_source_defines(self):
        text = """
#define TWICE(x) (2 * (x))
namespace tenure {
namespace {
using Numbers = std::vector<float>;
using test::make;
constexpr std::int64_t kSide = 3;
const int list[] = {1, 2};
struct Model {
  int inner = 0;
};
class [[nodiscard]] Guard {};
enum class Kind { one };
template <class T>
std::vector<T> values_of(const T& x,
                         int n) {
  const int local = 1;
  return call(local);
}
Tensor* found(int);
TEST(Suite, Name) { helper(); }
}
}
"""
        self.assertEqual(unite_tests.defined(text),
                         {"TWICE", "Numbers", "kSide", "list", "Model", "Guard", "Kind", "values_of", "found"})

    def test_who_mentions_a_name_of_another_is_apart(self):
        defines = "int chain(int n) {\n}\n"
        calls = "TEST(A, B) { chain(3); }\n"
        says = "// a chain of them\nTEST(C, D) {}\n"
        self.assertEqual(unite_tests.groups([defines, calls, says]), [0, 1, 0])
        self.assertEqual(unite_tests.groups([calls, defines, says]), [0, 1, 0])

    def test_a_group_has_a_bounded_number(self):
        self.assertEqual(unite_tests.groups(["TEST(A, B) {}\n"] * 6), [0, 0, 0, 0, 1, 1])


if __name__ == "__main__":
    unittest.main()
