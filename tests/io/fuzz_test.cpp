#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/io/checkpoint.h"
#include "tenure/io/npy.h"
#include "tenure/io/safetensors.h"
#include "tenure/memory/ledger.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tests/support/make.h"
#include "tests/support/mutate.h"
#include "tests/support/scratch.h"

// Whatever a file holds, it is read or refused with a typed error: under the sanitizers, nothing
// outside is touched; and nothing is left behind.

namespace tenure {
namespace {

using test::Scratch;

/// Touches all elements.
void use(const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) static_cast<void>(tensor.to_vector<float>());
}

template <class Save, class Load>
void survive_mutations(const Save& save, const Load& load) {
  const Scratch scratch;
  const std::string path = scratch / "a";
  save(path);
  load(path);
  const std::string good = test::read_file(path);
  const MemoryStats before = memory();
  std::mt19937 engine(1);
  int refused = 0;
  constexpr int kRounds = 4000;
  for (int i = 0; i < kRounds; ++i) {
    scratch.file("a", test::mutated(good, engine));
    reset_peak();
    try {
      load(path);
    } catch (const FormatError& error) {
      EXPECT_EQ(error.path(), path);
      ++refused;
    } catch (const DTypeError&) {
      ++refused;
    }
    ASSERT_LT(memory().peak, 2 << 20) << "round " << i;
  }
  EXPECT_GT(refused, kRounds / 4);
  EXPECT_EQ(memory().tensors, before.tensors);
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes);
}

NamedTensors some_tensors() {
  return {{"weight", test::counting<float>({4, 3})},
          {"mask", tensor({true, false})},
          {"t", transpose(test::counting<std::int64_t>({2, 3}))},
          {"half", zeros({5}, float16)}};
}

TEST(Fuzz, Npy) {
  survive_mutations([](const std::string& path) { save_npy(path, some_tensors().at("t")); },
                    [](const std::string& path) {
                      use({{"", load_npy(path)}});
                    });
}

TEST(Fuzz, StoredNpz) {
  survive_mutations([](const std::string& path) { save_npz(path, some_tensors()); },
                    [](const std::string& path) { use(load_npz(path)); });
}

TEST(Fuzz, DeflatedNpz) {
  survive_mutations(
      [](const std::string& path) { save_npz(path, some_tensors(), {.compressed = true}); },
      [](const std::string& path) { use(load_npz(path)); });
}

TEST(Fuzz, Safetensors) {
  survive_mutations(
      [](const std::string& path) {
        save_safetensors(path, some_tensors(), {{"k", "v"}});
      },
      [](const std::string& path) { use(load_safetensors(path)); });
}

TEST(Fuzz, Checkpoint) {
  survive_mutations(
      [](const std::string& path) {
        save_checkpoint(path, some_tensors(), {{"step", 3}, {"rate", 0.5}, {"name", "\n"}});
      },
      [](const std::string& path) { use(load_checkpoint(path).tensors); });
}

}  // namespace
}  // namespace tenure
