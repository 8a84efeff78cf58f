#include "report/formats/notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"

namespace attnprobe::report {
namespace {

using campaign::Result;
using campaign::Verdict;

// A paragraph and the targets that it speaks of, in the order of the results.
struct Paragraph {
  std::string text;
  std::vector<std::string> targets;
};

void add(std::vector<Paragraph>& paragraphs, const std::string& text, const std::string& target) {
  const auto same = [&](const Paragraph& paragraph) { return paragraph.text == text; };
  const auto found = std::find_if(paragraphs.begin(), paragraphs.end(), same);
  if (found == paragraphs.end())
    paragraphs.push_back({text, {target}});
  else
    found->targets.push_back(target);
}

// The place of the source is for those who want details; commands and addresses are long.
std::string source_text(const rules::Source& source, const TextStyle& style) {
  return style.details ? fmt::format("{}: {}", source.text, source.url) : source.text;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

// "warning: b200: …" over as many lines as it takes, the label in colour.
void write(std::string& out, const std::vector<Paragraph>& paragraphs, const std::string& label, const char* colour,
           size_t targets, const TextStyle& style) {
  for (const auto& paragraph : paragraphs) {
    const bool all = paragraph.targets.size() == targets;
    const std::string where = all ? "" : fmt::format("{}: ", joined(paragraph.targets));
    std::string text = wrapped(fmt::format("{}: {}{}", label, where, paragraph.text), 2, style.width);
    if (style.colour) text.replace(2, label.size() + 1, coloured(label + ":", colour));
    out += text;
  }
}

std::string refusal(const rules::FrontendAnswer& answer, const TextStyle& style) {
  return fmt::format("{}: \"{}\" ({})", answer.status, answer.message, source_text(answer.source, style));
}

}  // namespace

std::string warning_text(const Results& results, const TextStyle& style) {
  std::vector<Paragraph> warnings, ways_out, sources;
  for (const Result* result : results) {
    // What stands in the way of a supported config is in its line already.
    const bool is_told = result->usable == campaign::Usable::but;
    for (const auto& bug : result->warnings) {
      const std::string text = fmt::format("{} ({})", bug.advice, source_text(bug.source, style));
      add(is_told ? ways_out : warnings, is_told ? text : bug.what + " " + text, result->target.id);
    }
    if (!style.details) continue;
    for (const auto& obstacle : result->but)
      if (obstacle.kind != campaign::ObstacleKind::known_bug) add(sources, obstacle.source, result->target.id);
  }
  std::string out;
  write(out, sources, "source", "1;36", results.size(), style);
  write(out, ways_out, "what helps, by rule", "1;36", results.size(), style);
  write(out, warnings, "warning", "1;33", results.size(), style);
  return out;
}

std::string requirement_text(const Results& results, const TextStyle& style) {
  std::vector<Paragraph> needs, refusals;
  std::string version;
  for (const Result* result : results) {
    for (const auto& requirement : result->requirements)
      add(needs, fmt::format("{} ({})", requirement.text, source_text(requirement.source, style)), result->target.id);
    if (!result->frontend || !result->frontend->refuses) continue;
    version = result->frontend->version;
    add(refusals, refusal(*result->frontend, style), result->target.id);
  }
  std::string out;
  auto list = [&](const std::string& title, const std::vector<Paragraph>& paragraphs) {
    if (paragraphs.empty()) return;
    out += fmt::format("    {}\n", title);
    for (const auto& paragraph : paragraphs) {
      const bool all = paragraph.targets.size() == results.size();
      out += wrapped(all ? paragraph.text : fmt::format("{}: {}", joined(paragraph.targets), paragraph.text), 6,
                     style.width);
    }
  };
  list("version rules say", needs);
  list(fmt::format("cudnn-frontend {} refuses it itself, before it asks cuDNN", version), refusals);
  return out;
}

}  // namespace attnprobe::report
