#include "explain/told_question.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/question_reader.hpp"

namespace attnprobe::explain {
namespace {

// "5380 and 5176", "5175, 1307".
std::vector<int64_t> sizes_of(const std::string& list) {
  static const RE2 number("(\\d[\\d]*)", any_case());
  std::vector<int64_t> sizes;
  each_match(number, list, [&](const std::string* words, size_t) {
    if (const auto size = size_of(words[1])) sizes.push_back(*size);
  });
  return sizes;
}

void read_windows(Reader& reader, Json& mask) {
  static const RE2 pair = any("window(?:[_-]size)?['\"]? ?[=:]? ?\\(? ?(-?\\d+), ?(-?\\d+) ?\\)?");
  static const RE2 sides =
      any("\\b(\\d+) (?:keys |tokens )?(?:to the )?left ?(?:and|/|,) ?(\\d+) (?:keys |tokens )?(?:to the )?right");
  static const RE2 left = any(
      "(?:window_left|left[ _]bound)['\"]?(?: ?(?:of|is|=|:))* ?(\\d+)|\\b(\\d+) (?:keys |tokens |positions )?to the left\\b");
  static const RE2 last = any(
      "\\b(?:looks?|looking|attends?|attending|sees?|reach(?:es)?)\\b(?: (?:only|back|to|at|the|just|for))* (?:last |previous |latest |past |back )(\\d[\\d,]*k?)(?: keys| tokens| positions)?\\b");
  static const RE2 one = any(
      "(?:sliding[ _-])?window(?:s of|s ?[=:]|_size|[ _]size)?['\"]?(?: ?(?:of|is|=|:|was))* ?(\\d[\\d,]*k?)(?: keys| tokens)?");
  static const RE2 unused = any("\\buse_sliding_window\\W{1,4}false\\b");
  if (has_words(reader.rest(), unused)) return;
  const auto bound = [&](const char* key, const std::string& digits) {
    if (!digits.starts_with('-') && !mask.contains(key)) mask[key] = parse_number<int64_t>(digits).value_or(0);
  };
  for (const RE2* form : {&sides, &pair})
    reader.each(*form, [&](const std::string* words) {
      if (mask.contains("window_left")) return true;
      bound("window_left", words[1]);
      bound("window_right", words[2]);
      return true;
    });
  static const RE2 named_sides = any("\\bleft ?[=:]? ?(\\d+),? (?:and )?right ?[=:]? ?(\\d+)\\b");
  reader.each(named_sides, [&](const std::string* words) {
    bound("window_left", words[1]);
    bound("window_right", words[2]);
    return true;
  });
  reader.each(left, [&](const std::string* words) {
    bound("window_left", first_group(words));
    return true;
  });
  for (const RE2* size_form : {&one, &last})
    reader.each(*size_form, [&](const std::string* words) {
      const auto size = size_of(words[1]);
      if (size && !mask.contains("window_left")) mask["window_left"] = *size - 1;
      return size.has_value();
    });
}

void read_mask(Reader& reader) {
  static const RE2
      causal = any("\\bis_causal ?= ?True|\\b(?:padding_)?causal\\b|\\bunidirectional ?[=:] ?1\\b"),
      bottom = any("bottom[- _]?right"),
      padding = any(
          "\\bpadding[ _]?mask|\\bpadded (?:\\w+ )?(?:sequences?|tokens?|batch\\w*|keys?|queries|inputs?)\\b|(?:\\bwith|\\+) padding\\b|padding_causal");
  static const RE2 q_lengths = any("query lengths?(?: are| of|:)? (\\d[\\d, ]*(?:and \\d+)?)"),
                   kv_lengths = any("key lengths?(?: are| of|:)? (\\d[\\d, ]*(?:and \\d+)?)");
  static const RE2 packed = any(
      "\\bthd(?:_(?:thd|bshd|sbhd))*\\b|\\bpacked (?:sequences?|layout|batch|input|\\(|document)|sequence packing|\\bpacking\\b|\\bvar-?len|\\bragged|\\bcu_seq_?lens?(?:_\\w+)?(?: ?= ?(?:[^N\\s]|N[^o])|[^\\w =]| [^=]|$)|\\bjagged\\b|cumulative (?:sequence )?lengths");
  static const RE2 assigned = any(
      "\\b(?:is_)?causal[`'\"]{0,2} ?(?:= ?(\\w+)|: ?(true|false|none|no|yes|0|1)\\b|\\? ?(no|yes)\\b| (false|true)\\b)");
  reader.each(assigned, [](const std::string* words) {  // another value than true is not read as a mask
    const std::string value = in_small_letters(first_group(words));
    return value != "true" && value != "1" && value != "yes";
  });
  static const RE2 variable = any(", ?causal ?[,)]");
  // An argument of a call: "attn(q, k, v, causal)".
  reader.each(variable, [&](const std::string*) {
    const std::string_view before = reader.before();
    const size_t open = before.rfind('(');
    return open != std::string_view::npos && open > 0 && before.find(')', open) == std::string_view::npos &&
           std::isalnum(static_cast<unsigned char>(before[open - 1])) != 0;
  });
  Json mask = Json::object();
  read_windows(reader, mask);
  if (reader.says(causal)) mask["causal"] = true;
  if (mask.contains("causal") && mask.contains("window_right")) mask.erase("window_right");
  if (reader.says(bottom)) mask["alignment"] = "bottom_right";
  // PyTorch's call has a mask tensor for it.
  if (!reader.question.framework.starts_with("torch") && reader.says(padding)) mask["padding"] = true;
  for (const auto& [pattern, key] : {std::pair(&q_lengths, "seqlens_q"), std::pair(&kv_lengths, "seqlens_kv")})
    reader.each(*pattern, [&, key = key](const std::string* words) {
      const auto sizes = sizes_of(words[1]);
      if (sizes.size() < 2 || mask.contains(key)) return false;
      mask[key] = sizes;
      reader.set("batch", static_cast<int64_t>(sizes.size()));
      return true;
    });
  // cudnn-frontend's names, which only its own graphs have.
  static const RE2 prefix_sums = any("\\bcu_seq_len_(?:q|kv)\\b|\\bprefix sums? of (?:the )?(?:\\w+ )?lengths");
  if (reader.question.framework.empty() && reader.says(prefix_sums)) reader.set("cu_seqlens", "both");
  // Prefix sums come with every layout in Transformer Engine.
  static const RE2 dense = any("\\b(?:qkv_)?(?:layout|format)\\W{1,4}(?:bshd|sbhd|bs3hd|bsh3d|sb3hd|sbh3d)");
  // PyTorch's packed sequences are nested tensors; other programs also call theirs packed or ragged.
  static const RE2 nested = any("\\bnested[ _-]tensors?\\b|\\bjagged|\\bnjt\\b|varlen_attn");
  const bool is_packed = reader.question.framework.starts_with("torch") ? reader.says(nested) : reader.says(packed);
  if (is_packed && !reader.says(dense)) {
    reader.set("layout", "thd");
    mask["padding"] = true;
  }
  if (!mask.empty()) reader.set("mask", mask);
}

// "fails if seq_len_kv == 0": the last batch entry has no keys.
void read_empty_keys(Reader& reader) {
  static const RE2 empty = any(
      "\\b(?:seq_?lens?_?kv|s_?kv|kv_(?:seq_?)?lens?) ?(?:==?|of|is) ?0\\b|\\bzero[- ](?:length )?(?:keys?|kv|sequences)|\\blength 0 in \\w*seq_?len_?kv|\\bbatch entr(?:y|ies) without keys");
  constexpr int64_t usual_length = 1024, most_batch = 64;
  if (!reader.says(empty)) return;
  const auto told = [&](std::string_view field, int64_t otherwise) {
    for (const ToldField& one : reader.question.fields)
      if (one.field == field) return one.value.get<int64_t>();
    return otherwise;
  };
  if (!reader.question.tells("batch")) reader.set("batch", int64_t{2});
  const int64_t queries = told("seqlen_q", usual_length);
  const auto batch = static_cast<size_t>(std::clamp<int64_t>(told("batch", 2), 2, most_batch));
  if (told("batch", 2) != static_cast<int64_t>(batch)) return;
  std::vector<int64_t> lengths(batch, told("seqlen_kv", queries));
  lengths.back() = 0;
  Json mask = {{"padding", true}, {"seqlens_q", std::vector<int64_t>(batch, queries)}, {"seqlens_kv", lengths}};
  for (ToldField& one : reader.question.fields)
    if (one.field == "mask") {
      one.value.update(mask);
      return;
    }
  reader.set("mask", mask);
}

}  // namespace

bool ToldQuestion::tells(std::string_view field) const {
  return std::any_of(fields.begin(), fields.end(), [&](const ToldField& one) { return one.field == field; });
}

bool ToldQuestion::same_as(const ToldQuestion& other) const {
  return std::equal(fields.begin(), fields.end(), other.fields.begin(), other.fields.end(),
                    [](const ToldField& a, const ToldField& b) { return a.field == b.field && a.value == b.value; });
}

std::string ToldQuestion::read_as() const {
  std::string words;
  std::set<int64_t> lines;
  for (const ToldField& one : fields) {
    words += (words.empty() ? "" : ", ") + one.field;
    const bool is_assumed = (one.field == "bias" && one.value == usual_bias) ||
                            (one.field == "paged" && std::ranges::find(assumed, assumed_pages) != assumed.end());
    if (!is_assumed) words += " " + (one.value.is_string() ? one.value.get<std::string>() : one.value.dump());
    lines.insert(one.line);
  }
  return words.empty() ? ""
                       : fmt::format("{} (line{} {})", words, lines.size() == 1 ? "" : "s", fmt::join(lines, ", "));
}

namespace {

// Of Transformer Engine's attention over several GPUs.
void read_context_parallelism(Reader& reader) {
  static const RE2
      parallel = any(
          "\\bcontext[-_ ]parallel(?:ism)?\\b|\\bcontext[-_]parallel[-_]size\\W{1,3}(?:[2-9]|\\d{2,})|\\bcp_size ?= ?[2-9]"),
      one = any("\\bcontext[-_]parallel[-_]size\\W{1,3}1\\b"), exchange("\\b(p2p|a2a\\+p2p|a2a|all_gather)\\b");
  if (has_words(reader.rest(), one) || !reader.says(parallel)) return;
  std::string told;
  if (!RE2::PartialMatch(piece(reader.rest()), exchange, &told)) {
    told = "p2p";
    reader.question.assumed.emplace_back("cp_comm_type p2p");
  }
  reader.question.call["context_parallel"] = true;
  reader.question.call["cp_comm_type"] = told;
}

void read_fields(Reader& reader, std::string_view page, const TextFacts& facts) {
  choose_framework(reader.question, page, facts);
  ToldQuestion& question = reader.question;
  const bool is_engine = question.framework.starts_with("transformer-engine"),
             is_jax = question.framework.starts_with("jax");
  // Of a message of cudnn-frontend, not of the call.
  static const RE2 listed = any("\\bdbias, rng/dropout, alibi\\b");
  reader.each(listed, [](const std::string*) { return true; });
  read_bias(reader);
  read_types(reader);  // before the tuples, which contain types: "q: bf16[2,4096,16,128]"
  read_tuples(reader, is_jax || is_engine);
  read_mask(reader);
  read_sizes(reader);
  read_empty_keys(reader);
  read_features(reader);
  static const RE2 current = any("\\bcurrent[- ]scaling\\b");
  if (is_engine && reader.says(current)) question.call["fp8_recipe"] = "current";
  static const RE2 cache = any("\\bInferenceParams\\b|\\binference_params\\b|\\bKV[- ]?(?:cache|caching)\\b");
  if (is_engine && reader.says(cache)) {
    question.call["kv_cache"] = true;
    question.call["is_training"] = false;
    reader.set("pass", "fprop");
  }
  if (is_engine) read_context_parallelism(reader);
  static const RE2
      prefill = any("prefill"),
      of_cudnn = any(
          "\\bcudnn_batch_prefill_|\\bbackend\\W{1,4}cudnn\\b|\\bcudnn prefill|\\bprefill\\b[^.\\n]{0,40}\\bcudnn\\b");
  if (question.framework.starts_with("flashinfer") && has_words(page, prefill) && has_words(page, of_cudnn))
    question.call["call"] = "prefill_cudnn";
  if (is_jax && question.tells("layout"))
    question.call = {{"packed", true}, {"offsets", true}, {"seqlen_q_given", true}, {"seqlen_kv_given", true}};
}

}  // namespace

ToldQuestion read_question(std::string_view page, const TextFacts& facts) {
  Reader reader(page);
  read_fields(reader, page, facts);
  ToldQuestion& question = reader.question;
  // "d 256 works on the H100, but not on the A100": the dimension is of both.
  if (reader.has_shared()) {
    Reader of_both(page, true);
    read_fields(of_both, page, facts);
    for (ToldField& field : of_both.question.fields)
      if (!question.tells(field.field)) {
        question.fields.push_back(std::move(field));
        question.is_partial = true;
      }
  }
  find_unread(reader);
  return question;
}

}  // namespace attnprobe::explain
