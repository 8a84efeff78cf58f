#include "report/formats/notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "rules/framework_rules.hpp"
#include "rules/frontend_engines.hpp"

namespace attnprobe::report {
namespace {

using answer::Answer;
using answer::Verdict;

// Beyond this number only refusals are printed, without workarounds.
constexpr size_t most_frameworks_told = 3;

// A paragraph and its targets, in the order of the results.
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

// The source's place is shown only with details, because commands and addresses are long.
std::string source_text(const rules::Source& source, const TextStyle& style) {
  return style.details ? fmt::format("{}: {}", source.text, source.url) : source.text;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

// "warning: b200: …", wrapped, with a coloured label.
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

// Workarounds for a framework's refusals, with the framework's name if several were requested.
void add_changes(std::vector<Paragraph>& ways_out, const Answer& result, const TextStyle& style) {
  for (const rules::GateAnswer& framework : result.frameworks)
    for (const rules::GateRefusal& refusal : framework.refusals) {
      const std::string whose = result.frameworks.size() == 1 ? "" : framework.title + ": ";
      const std::string until = framework.taken_from.empty() || &refusal != &framework.refusals.front()
                                    ? ""
                                    : fmt::format("; {} no longer refuses it", framework.taken_from);
      const std::string words =
          style.details && !refusal.message.empty() ? fmt::format("; its words: \"{}\"", trim(refusal.message)) : "";
      add(ways_out,
          fmt::format("{}{}{}{} ({})", whose, refusal.change, until, words, source_text(refusal.source, style)),
          result.target.id);
    }
}

void add_framework_notes(std::vector<Paragraph>& notes, const Answer& result) {
  for (const rules::GateAnswer& framework : result.frameworks) {
    std::vector<std::string> told;
    for (const std::string& note : framework.notes)
      told.push_back(note.starts_with(framework.title) ? note : fmt::format("{}: {}", framework.title, note));
    for (const std::string& note : told) add(notes, note, result.target.id);
  }
}

std::string refusal(const rules::FrontendAnswer& answer, const TextStyle& style) {
  std::string releases;
  if (!answer.from.empty()) releases += "; since " + answer.from;
  if (!answer.until.empty()) releases += "; until " + answer.until;
  if (rules::is_of_package(answer)) releases += "; programs compiled for this cuDNN get past it";
  return fmt::format("{}{}\"{}\" ({}{})", answer.status, answer.status.empty() ? "" : ": ", answer.message,
                     source_text(answer.source, style), releases);
}

}  // namespace

std::string framework_lines(const Results& results) {
  size_t most = 0;
  for (const Answer* result : results) most = std::max(most, result->frameworks.size());
  std::string out;
  for (size_t i = 0; i < most; ++i) {
    std::vector<Paragraph> lines;
    for (const Answer* result : results) {
      if (i >= result->frameworks.size()) continue;
      const rules::GateAnswer& framework = result->frameworks[i];
      add(lines, framework.text + (framework.instead.empty() ? "" : "; " + framework.instead), result->target.id);
    }
    for (const Paragraph& line : lines) {
      const bool is_so_on_all = line.targets.size() == results.size();
      out += line.text + (is_so_on_all ? "" : fmt::format(" (on {})", joined(line.targets))) + "\n";
    }
  }
  return out;
}

std::string obstacles_summary(const Answer& result) {
  // The frameworks are printed above, one per line; here, many of them would bury the rest.
  constexpr size_t most_frameworks = 2;
  const auto is_framework = [](const auto& one) { return one.kind == answer::ObstacleKind::framework; };
  const auto frameworks = static_cast<size_t>(std::count_if(result.but.begin(), result.but.end(), is_framework));
  std::string text;
  if (frameworks > most_frameworks)
    text = fmt::format("{} of {} frameworks refuse it, cannot request it or use cuDNN only if you select it",
                       frameworks, result.frameworks.size());
  for (const auto& obstacle : result.but)
    if (frameworks <= most_frameworks || !is_framework(obstacle)) text += (text.empty() ? "" : "; ") + obstacle.text;
  return text;
}

std::string warning_text(const Results& results, const TextStyle& style) {
  std::vector<Paragraph> warnings, ways_out, probed, sources, framework_notes;
  for (const Answer* result : results) {
    if (style.details || result->frameworks.size() <= most_frameworks_told) {
      add_changes(ways_out, *result, style);
      add_framework_notes(framework_notes, *result);
    } else {
      add(framework_notes, "-v shows a workaround for each refusal; so does asking fewer frameworks",
          result->target.id);
    }
    // For a no they are in the root cause.
    for (const auto& way : result->ways_out)
      if (!result->root_cause) add(probed, text_of(way), result->target.id);
    // The line of a supported config already has its obstacles.
    const bool is_told = result->usable == answer::Usable::but;
    for (const auto& bug : result->warnings) {
      const std::string text = fmt::format("{} ({})", bug.advice, source_text(bug.source, style));
      add(is_told ? ways_out : warnings, is_told ? text : bug.what + " " + text, result->target.id);
    }
    if (!style.details) continue;
    for (const auto& obstacle : result->but)
      if (obstacle.kind != answer::ObstacleKind::known_bug && !obstacle.source.empty())
        add(sources, obstacle.source, result->target.id);
  }
  std::string out;
  write(out, sources, "source", "1;36", results.size(), style);
  write(out, probed, "workarounds (probed)", "1;36", results.size(), style);
  write(out, ways_out, "workarounds, by rule", "1;36", results.size(), style);
  write(out, framework_notes, "framework", "1;36", results.size(), style);
  write(out, warnings, "warning", "1;33", results.size(), style);
  return out;
}

std::vector<rules::FrontendEngine> frontend_engines_beside(const Answer& result) {
  if (result.verdict != Verdict::unsupported || !result.has_spec() || !result.cudnn_version.is_known()) return {};
  return rules::frontend_engines(result.config.spec, result.cudnn_version, result.target.sm);
}

std::string requirement_text(const Results& results, const TextStyle& style) {
  std::vector<Paragraph> needs, engines;
  std::string engines_of;
  std::map<std::string, std::vector<Paragraph>> refusals;  // by refusing layer
  for (const Answer* result : results) {
    for (const auto& engine : frontend_engines_beside(*result)) {
      engines_of = FrontendVersion::parse(engine.frontend).value_or(FrontendVersion()).short_text();
      add(engines,
          rules::text_of(engine) + (style.details ? fmt::format(": {}", source_text(engine.source, style)) : ""),
          result->target.id);
    }
    for (const auto& requirement : result->requirements)
      add(needs, fmt::format("{} ({})", requirement.text, source_text(requirement.source, style)), result->target.id);
    if (!result->frontend || !result->frontend->refuses) continue;
    const std::string whose =
        rules::is_of_package(*result->frontend) ? "the Python package of cudnn-frontend " : "cudnn-frontend ";
    add(refusals[whose + result->frontend->version], refusal(*result->frontend, style), result->target.id);
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
  for (const auto& [whose, of_release] : refusals)
    list(fmt::format("{} refuses it itself, before it asks cuDNN", whose), of_release);
  list(fmt::format("cudnn-frontend {} used from Python has its own engine, according to its rules (C++ programs\n"
                   "    such as PyTorch, Transformer Engine and XLA do not get it)",
                   engines_of),
       engines);
  return out;
}

}  // namespace attnprobe::report
