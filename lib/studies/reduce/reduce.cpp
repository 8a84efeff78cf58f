#include "studies/reduce/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::reduce {
namespace {

using attention::AttentionSpec;

constexpr const char* sizes[][2] = {{"heads_q", "heads_kv"}, {"seqlen_q", "seqlen_kv"}, {"head_dim_qk", "head_dim_v"},
                                    {"batch", ""},           {"heads_q", ""},           {"heads_kv", ""},
                                    {"seqlen_q", ""},        {"seqlen_kv", ""},         {"head_dim_qk", ""},
                                    {"head_dim_v", ""}};

bool is_kept(const std::string& field) {
  if (field == "pattern") return true;
  return std::any_of(std::begin(sizes), std::end(sizes),
                     [&](const auto& names) { return field == names[0] || field == names[1]; });
}

// Half of it, as a multiple of 8 while it is above 8.
int64_t half_of(int64_t size) {
  return size > 15 ? size / 2 / 8 * 8 : size / 2;
}

class Reduction {
 public:
  Reduction(const AttentionSpec& spec, const Ask& ask, size_t most_trials)
      : ask_(ask), most_(most_trials), fields_(fields_of(spec)) {
    reduced_.spec = spec;
    reduced_.failure = ask(spec);
    if (!reduced_.failure.asked)
      throw Error(ErrorKind::environment, "the config could not be asked about: " + text_of(reduced_.failure));
    if (reduced_.failure.verdict == answer::Verdict::supported)
      throw Error(ErrorKind::usage,
                  "the config is supported here, so there is nothing to reduce; allowed: one that is "
                  "refused, crashes, hangs or computes something wrong");
  }

  Reduced run() {
    bool goes_on = true;
    while (goes_on) {
      const bool fewer = drop_fields(), smaller = shrink_sizes();
      goes_on = (fewer || smaller) && !is_over();
    }
    reduced_.ended = !is_over();
    return std::move(reduced_);
  }

 private:
  bool is_over() const { return reduced_.trials.size() >= most_; }

  // Keeps the config if it fails in the same way; returns whether it does.
  bool attempt(const Json& fields, const std::string& what) {
    if (is_over() || fields == fields_) return false;
    auto spec = spec_of(fields);
    if (!spec) return false;
    spec->name = reduced_.spec.name;
    spec->source = reduced_.spec.source;
    const Failure failure = ask_(*spec);
    const bool same = failure == reduced_.failure;
    reduced_.trials.push_back({what, same, same ? "" : text_of(failure)});
    if (!same) return false;
    reduced_.spec = std::move(*spec);
    fields_ = fields;
    return true;
  }

  bool drop_fields() {
    bool dropped = false;
    const Json before = fields_;
    for (const auto& [name, value] : before.items()) {
      if (is_kept(name)) continue;
      Json fewer = fields_;
      fewer.erase(name);
      const std::string option = attention::option_of(name);
      if (attempt(fewer,
                  fmt::format("without {} {}", option, value.is_string() ? value.get<std::string>() : value.dump()))) {
        dropped = true;
        continue;
      }
      if (!value.is_object()) continue;
      for (const auto& [member, ignored] : value.items()) {
        fewer = fields_;
        fewer[name].erase(member);
        dropped = attempt(fewer, fmt::format("{} without \"{}\"", option, member)) || dropped;
      }
    }
    return dropped;
  }

  // Both sizes of a pair together, if they are equal.
  bool shrink_sizes() {
    bool shrunk = false;
    for (const auto& [first, second] : sizes) {
      const bool is_pair = *second != '\0';
      const auto size = [&, name = first] { return fields_.value(name, int64_t{1}); };
      if (is_pair && fields_.value(second, int64_t{1}) != size()) continue;
      if (size() > 1 && resize(first, second, 1)) {
        shrunk = true;
        continue;
      }
      while (half_of(size()) > 1 && resize(first, second, half_of(size()))) shrunk = true;
    }
    return shrunk;
  }

  bool resize(const char* first, const char* second, int64_t size) {
    Json smaller = fields_;
    smaller[first] = size;
    std::string what = fmt::format("{} {}", attention::option_of(first), size);
    if (*second != '\0') {
      smaller[second] = size;
      what += fmt::format(" {} {}", attention::option_of(second), size);
    }
    return attempt(smaller, what);
  }

  const Ask& ask_;
  size_t most_;
  Json fields_;
  Reduced reduced_;
};

}  // namespace

Json fields_of(const AttentionSpec& spec) {
  Json json = Json::object();
  for (const attention::Field& field : attention::fields())
    if (field.stands_for.empty() && field.name != "expect" && field.name != "name" && field.name != "source" &&
        (field.given(spec) || field.name == "pattern"))
      if (const Json value = field.get(spec); !value.is_null()) json[field.name] = value;
  return json;
}

std::optional<AttentionSpec> spec_of(const Json& fields) try {
  return attention::parse_configs(json_text(fields), "reduce").at(0).spec;
} catch (const Error& e) {
  if (e.kind() != ErrorKind::usage) throw;
  return std::nullopt;
}

Failure failure_of(const answer::Answer& result) {
  Failure failure;
  failure.verdict = result.verdict;
  failure.asked = !result.environment_broken;
  if (result.root_cause) {
    failure.category = name_of(result.root_cause->category);
    failure.status = result.root_cause->status;
    // The C++ condition after the sentence has variable names that change between versions.
    failure.reason = result.root_cause->reason.substr(0, result.root_cause->reason.find(" at: "));
    if (!failure.asked) failure.reason = result.root_cause->explanation;
  }
  if (result.crash) failure.how = result.crash->how;
  return failure;
}

std::string text_of(const Failure& failure) {
  std::string text(name_of(failure.verdict));
  if (!failure.category.empty()) text += ", " + failure.category;
  if (!failure.how.empty()) text += ", " + failure.how;
  if (!failure.reason.empty()) return text + ": " + failure.reason;
  return failure.status.empty() ? text : text + ": " + failure.status;
}

Reduced reduce(const AttentionSpec& spec, const Ask& ask, size_t most_trials) {
  return Reduction(spec, ask, most_trials).run();
}

}  // namespace attnprobe::reduce
