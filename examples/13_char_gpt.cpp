// A small transformer learns a text letter by letter, then writes some of its own.
//
//     13_char_gpt [--device cuda] [FILE|-] [STEPS]

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "examples/gpt.h"
#include "examples/options.h"
#include "tenure/tenure.h"

using namespace tenure;

namespace {

constexpr std::int64_t kLength = 64;

/// Letters as numbers, and back.
class Alphabet {
 public:
  explicit Alphabet(const std::string& text) {
    const std::set<char> seen(text.begin(), text.end());
    letters_.assign(seen.begin(), seen.end());
  }
  std::int64_t size() const { return static_cast<std::int64_t>(letters_.size()); }
  std::int64_t number(char letter) const {
    return static_cast<std::int64_t>(letters_.find(letter));
  }
  char letter(std::int64_t number) const { return letters_[static_cast<std::size_t>(number)]; }

 private:
  std::string letters_;
};

std::string sample_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    text += "A tensor is made, is used, and ends; the ledger knows each byte of it. ";
  }
  return text;
}

std::string read_text(const char* path) {
  std::ifstream file(path);
  if (!file) throw ValueError(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Elements [letters, the letters after each of them].
data::Dataset windows(const std::string& text, const Alphabet& alphabet) {
  std::vector<std::int64_t> numbers;
  for (const char letter : text) numbers.push_back(alphabet.number(letter));
  const Tensor all = tensor(numbers, {static_cast<std::int64_t>(numbers.size())});
  const auto count = static_cast<std::int64_t>(text.size()) - kLength;
  return data::from_function(count, [all](std::int64_t place) {
    return data::Batch{slice(all, 0, place, place + kLength),
                       slice(all, 0, place + 1, place + kLength + 1)};
  });
}

/// Goes on with `text`, one likely letter after the other.
std::string write(const nn::Trainer& trainer, const Alphabet& alphabet, std::string text,
                  int letters) {
  for (int i = 0; i < letters; ++i) {
    std::vector<std::int64_t> window;
    for (std::int64_t j = 0; j < kLength; ++j) {
      const auto from_end = static_cast<std::size_t>(kLength - j);
      window.push_back(from_end > text.size() ? 0 : alphabet.number(text[text.size() - from_end]));
    }
    const Tensor logits = trainer.predict(tensor(window, {1, kLength}));
    const Tensor last = slice(logits, 1, kLength - 1, kLength);
    text += alphabet.letter(argmax(last, -1).item<std::int64_t>());
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  const Device device = examples::device_option(argc, argv);
  const bool has_file = argc > 1 && std::string(argv[1]) != "-";
  const std::string text = has_file ? read_text(argv[1]) : sample_text();
  const std::int64_t steps = argc > 2 ? std::atoll(argv[2]) : 60;
  if (static_cast<std::int64_t>(text.size()) < 2 * kLength) {
    throw ValueError("the text is too short to learn from");
  }
  const Alphabet alphabet(text);
  const data::Dataset batches = windows(text, alphabet)
                                    .shuffle(1)
                                    .repeat(1 + steps * 16 / static_cast<std::int64_t>(text.size()))
                                    .batch(16, true)
                                    .take(steps);

  seed(1);
  const examples::Gpt gpt(
      {.width = 64, .heads = 4, .layers = 2, .length = kLength, .tokens = alphabet.size()});
  gpt.to(device);
  nn::AdamW optimizer(gpt.trainable(), 3e-3);
  nn::Trainer trainer(
      gpt, [](const Tensor& logits, const Tensor& next) { return cross_entropy(logits, next); },
      optimizer, {.metrics = {nn::accuracy()}, .clip_norm = 1.0});
  std::cout << nn::summarize(trainer, spec({16, kLength}, DType::int64),
                             spec({16, kLength}, DType::int64))
            << '\n';
  nn::fit(trainer, batches);
  std::cout << '\n' << write(trainer, alphabet, text.substr(0, kLength), 80) << '\n';
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
