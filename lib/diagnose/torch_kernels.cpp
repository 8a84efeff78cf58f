#include "diagnose/torch_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"
#include "diagnose/text_lines.hpp"

namespace attnprobe::diagnose {
namespace {

struct Kernel {
  std::string name;  // "Flash attention"
  int64_t line = 0;
  std::vector<std::string> reasons;
  bool is_switched_off = false;
};

// "x.py:3: UserWarning: REASON (Triggered internally at …)".
std::string warned(std::string_view line) {
  static const RE2 warning("Warning: (.*?)(?: ?\\(Triggered internally.*)?$", exact_case());
  std::string reason;
  const std::string content(trim(line));
  return RE2::PartialMatch(content, warning, &reason) ? reason : "";
}

std::vector<Kernel> kernels_in(std::string_view text) {
  static const RE2 head(
      "^(Flash|Memory [Ee]fficient|Mem Efficient|[Cc][Uu][Dd][Nn][Nn]|Math)(?: attention)? kernel not used because:?",
      exact_case());
  static const RE2 off("been (?:runtime )?disabled|runtime disabled", any_case());
  std::vector<Kernel> kernels;
  for (const Line& line : lines_of(text)) {
    const std::string reason = warned(line.text);
    std::string name;
    if (reason.empty()) continue;
    if (RE2::PartialMatch(reason, head, &name)) {
      kernels.push_back({name, line.number, {}, false});
    } else if (!kernels.empty()) {
      auto& reasons = kernels.back().reasons;
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
      kernels.back().is_switched_off = kernels.back().is_switched_off || has_words(reason, off);
    }
  }
  std::erase_if(kernels, [](const Kernel& kernel) { return kernel.reasons.empty(); });
  return kernels;
}

}  // namespace

std::optional<Refusal> read_torch_kernels(std::string_view text) {
  std::vector<Kernel> kernels = kernels_in(text);
  const auto allowed_end =
      std::stable_partition(kernels.begin(), kernels.end(), [](const Kernel& k) { return !k.is_switched_off; });
  if (kernels.empty() || allowed_end == kernels.begin()) return std::nullopt;
  const Kernel& first = kernels.front();
  Refusal refusal;
  refusal.kind = SentenceKind::reading;
  refusal.id = "torch-kernels";
  refusal.layer = Layer::framework;
  refusal.who = "PyTorch SDPA";
  refusal.headline = "PyTorch's gate refused, before cuDNN was asked: no kernel that the program allows takes the call";
  refusal.said = refusal.line = fmt::format("{}: {}", first.name, fmt::join(first.reasons, "; "));
  refusal.first_line = first.line;
  refusal.times = 1;
  std::vector<std::string> off;
  for (const Kernel& kernel : kernels) {
    if (kernel.is_switched_off)
      off.push_back(kernel.name);
    else
      refusal.causes.push_back(fmt::format("{} refuses: {}", kernel.name, fmt::join(kernel.reasons, "; ")));
  }
  refusal.means = "PyTorch asks each of its attention kernels, and prints what each refuses.";
  if (!off.empty())
    refusal.means += fmt::format(" The program itself switched off: {} (sdpa_kernel, or enable_…_sdp(False)).",
                                 fmt::join(off, ", "));
  std::string step;
  for (const Matter& matter : readings().matters)
    if (step.empty() && has_words(first.reasons.front(), *matter.words)) step = matter.step;
  refusal.help = step;
  refusal.next =
      off.empty()
          ? step
          : "allow the other kernels for this call: sdpa_kernel with a list that has EFFICIENT_ATTENTION and MATH in it, or without sdpa_kernel";
  if (refusal.next.empty())
    refusal.next = "with sdpa_kernel(SDPBackend.MATH) the call computes without any fused kernel";
  refusal.source = "the warnings of PyTorch's sdp_utils in the text, kernel by kernel";
  return refusal;
}

}  // namespace attnprobe::diagnose
