#include "diagnose/named_programs.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "diagnose/search_options.hpp"
#include "diagnose/stated.hpp"

namespace attnprobe::diagnose {
namespace {

using re2::StringPiece;

constexpr size_t longest_for_host = 20'000;

}  // namespace

const NamedAttention* program_in(std::string_view text) {
  const NamedAttention* first = nullptr;
  size_t place = text.size();
  for (const auto& program : readings().programs) {
    StringPiece found;
    if (!program.words->Match(piece(text), 0, text.size(), RE2::UNANCHORED, &found, 1)) continue;
    const auto at = static_cast<size_t>(found.data() - text.data());
    if (at >= place) continue;
    place = at;
    first = &program;
  }
  return first;
}

const NamedAttention* host_in(std::string_view text) {
  const std::string plain = without_values(std::string(text.substr(0, longest_for_host)));
  const NamedAttention* first = nullptr;
  size_t place = plain.size();
  for (const auto& program : readings().programs) {
    if (!program.chooses) continue;
    const RE2 name("\\b" + RE2::QuoteMeta(program.name) + "\\b", any_case());
    for (const RE2* words : {&name, program.words.get()}) {
      StringPiece found;
      if (!words->Match(plain, 0, plain.size(), RE2::UNANCHORED, &found, 1)) continue;
      const auto at = static_cast<size_t>(found.data() - plain.data());
      if (at >= place) continue;
      place = at;
      first = &program;
    }
  }
  return first;
}

std::string way_around(const NamedAttention* program, const NamedAttention* host) {
  const bool host_chose =
      host != nullptr && host != program && !host->instead.empty() && (program == nullptr || !program->chooses);
  if (host_chose) return host->instead;
  return program != nullptr ? program->instead : "";
}

const NamedAttention* with_limits(std::string_view text) {
  static const RE2 flash("flash.?att|fused attention|head dims?\\b", any_case());
  const NamedAttention* named = program_in(text);
  if (named != nullptr && !named->limits.empty()) return named;
  if (named != nullptr && !named->name.starts_with("PyTorch")) return nullptr;  // its own limits, which are not known
  if (!has_words(text, flash)) return nullptr;
  const auto& all = readings().programs;
  const auto found = std::find_if(all.begin(), all.end(), [](const auto& one) { return one.name == "flash-attn"; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace attnprobe::diagnose
