// The data of all cells for the pages: a word and a reason each, in a few bytes.
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

/// The configs, GPUs and versions that have pages, in page order.
struct Axes {
  std::string title;
  std::vector<Named> configs;
  std::vector<std::string> summaries;  ///< titles of the configs, in reading order
  std::vector<Named> targets;          ///< by architecture, oldest first
  std::vector<report::MatrixAxes::Target> target_facts;
  std::vector<Named> cudnns;                        ///< ascending
  std::vector<size_t> target_places, cudnn_places;  ///< indices in the matrix's own axes
};
Axes axes_of(const report::MatrixAxes& matrix, const std::string& title);

using answer::Word;

/// A range of versions with the same answer, both ends included.
struct Run {
  size_t first = 0, last = 0;
  Word word = Word::not_asked;
};

/// A cell whose word differs from that in the previous version.
struct Change {
  size_t config = 0, target = 0;
  Word before = Word::not_asked, after = Word::not_asked;
  uint32_t why = 0;  ///< reason of the worse answer
};

class Answers {
 public:
  Answers(size_t configs, size_t targets, size_t cudnns);

  void set(size_t config, size_t target, size_t cudnn, Word word, const std::string& why);
  Word word(size_t config, size_t target, size_t cudnn) const { return words_[place(config, target, cudnn)]; }
  const std::string& why(uint32_t index) const { return whys_[index]; }

  /// Runs of one word along the versions, including versions that were not asked.
  std::vector<Run> runs(size_t config, size_t target) const;
  /// The last run that was asked; word not_asked if there is none.
  Run newest(size_t config, size_t target) const;
  /// The cells, by config and GPU, whose answer differs between that version and the previous one. Includes only cells
  /// asked in both.
  std::vector<Change> changes(size_t cudnn) const;
  /// The number of a GPU's cells with each word.
  std::map<Word, size_t> counts(size_t target, size_t cudnn) const;

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

/// "since 9.20"; "since 9.8 or earlier" if the oldest asked version has the same answer; "up to 9.28" if not supported.
std::string since_text(const Run& run, const Axes& axes, size_t oldest_asked);

/// "9.20" for "9.20.0"; "9.13.1" unchanged.
std::string short_version(const std::string& version);

}  // namespace attnprobe::site
