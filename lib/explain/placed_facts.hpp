// A text whose facts are being read. Only for the files that read them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.hpp"
#include "explain/facts.hpp"
#include "explain/words.hpp"

namespace attnprobe::explain {

inline constexpr size_t most_facts = 16;

template <class T>
void add_fact(std::vector<T>& facts, const T& fact) {
  if (facts.size() < most_facts && std::find(facts.begin(), facts.end(), fact) == facts.end()) facts.push_back(fact);
}

// A text whose facts are being added. Facts about working cases are added last.
struct PlacedFacts {
  TextFacts& facts;
  std::string_view text;  // as prose
  std::string_view page;  // unchanged
  int64_t first_line;
  std::vector<std::string> gpus = {}, versions = {}, frameworks = {};

  void add(std::vector<std::string>& list, const std::string& value, size_t at) {
    if (!facts.lines.contains(value)) facts.lines.emplace(value, first_line - 1 + line_at(page, at));
    add_fact(list, value);
  }
};

inline int64_t number_in(const std::string& digits) {
  return parse_number<int64_t>(digits).value_or(0);
}

/// Whether the fact describes a previous setup, or one that works: "from an H100 to an RTX 5090", "torch 2.4 works".
bool is_left_behind(const PlacedFacts& place, size_t at);

/// Adds GPUs by name, also those of other vendors.
void add_gpus(PlacedFacts& place);

/// Adds compute capabilities of the present GPU.
void add_sms(PlacedFacts& place);

/// Adds what the text is about: the operation, graphs, kernels, and whether it speaks of attention and cuDNN.
void add_subject(PlacedFacts& place);

}  // namespace attnprobe::explain
