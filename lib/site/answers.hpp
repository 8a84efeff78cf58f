// What the pages of a site say of all cells: a word and a reason for each, in a few bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/model/cells.hpp"

namespace attnprobe::site {

/// A config, GPU or version: its name and the folder of its page.
struct Named {
  std::string name, address;
};

/// What there are pages of, in the order of the pages.
struct Axes {
  std::string title;
  std::vector<Named> configs;
  std::vector<std::string> summaries;  ///< of the configs, as they are read
  std::vector<Named> targets;          ///< by architecture, old ones first
  std::vector<report::MatrixAxes::Target> target_facts;
  std::vector<Named> cudnns;                        ///< rising
  std::vector<size_t> target_places, cudnn_places;  ///< of each in the matrix' own axes
};
Axes axes_of(const report::MatrixAxes& matrix, const std::string& title);

/// Index into words(); none: nobody asked.
using Word = uint8_t;
constexpr Word not_asked = 0;
const std::vector<std::string>& words();
Word word_of(const report::CellAnswer& answer);

/// Versions of which the same holds, both ends among them.
struct Run {
  size_t first = 0, last = 0;
  Word word = not_asked;
};

/// A cell whose word is another than with the version before.
struct Change {
  size_t config = 0, target = 0;
  Word before = not_asked, after = not_asked;
  uint32_t why = 0;  ///< of the worse of the two
};

class Answers {
 public:
  Answers(size_t configs, size_t targets, size_t cudnns);

  void set(size_t config, size_t target, size_t cudnn, Word word, const std::string& why);
  Word word(size_t config, size_t target, size_t cudnn) const { return words_[place(config, target, cudnn)]; }
  const std::string& why(uint32_t index) const { return whys_[index]; }

  /// Runs of one word along the versions, those among them that nobody asked too.
  std::vector<Run> runs(size_t config, size_t target) const;
  /// The last run that was asked; word not_asked: none was.
  Run newest(size_t config, size_t target) const;
  /// Whether a cell of that version was answered otherwise by the version before it, by config and GPU. Of cells that both were asked.
  std::vector<Change> changes(size_t cudnn) const;
  /// How many cells of a GPU have each word, by Word.
  std::vector<size_t> counts(size_t target, size_t cudnn) const;

 private:
  size_t place(size_t config, size_t target, size_t cudnn) const {
    return (config * targets_ + target) * cudnns_ + cudnn;
  }

  size_t configs_, targets_, cudnns_;
  std::vector<Word> words_;
  std::vector<uint32_t> reasons_;  // index into whys_
  std::vector<std::string> whys_{""};
  std::map<std::string, uint32_t> known_;
};

/// "since 9.20", "since 9.8 or earlier" where the oldest version that was asked has it; "up to 9.28" for what is not taken.
std::string since_text(const Run& run, const Axes& axes, size_t oldest_asked);

/// "9.20" of "9.20.0", "9.13.1" as it is.
std::string short_version(const std::string& version);

}  // namespace attnprobe::site
