#include "explain/told_question.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/words.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {
namespace {

// Whether any of the set facts is true.
bool any_set(std::initializer_list<bool> set) {
  return std::find(set.begin(), set.end(), true) != set.end();
}

constexpr int64_t most_size = int64_t{1} << 24;
constexpr size_t most_others = 3;

std::optional<int64_t> size_of(std::string digits) {
  std::erase(digits, ',');
  const bool is_k = !digits.empty() && (digits.back() == 'k' || digits.back() == 'K');
  if (is_k) digits.pop_back();
  const auto number = parse_number<int64_t>(digits);
  if (!number || *number < 1 || *number > most_size) return std::nullopt;
  return is_k ? *number * 1024 : *number;
}

// "5380 and 5176", "5175, 1307".
std::vector<int64_t> sizes_of(const std::string& list) {
  static const RE2 number("(\\d[\\d]*)", any_case());
  std::vector<int64_t> sizes;
  each_match(number, list, [&](const std::string* words, size_t) {
    if (const auto size = size_of(words[1])) sizes.push_back(*size);
  });
  return sizes;
}

// Reads fields one after the other; text used by one field is not read again.
class Reader {
 public:
  explicit Reader(std::string_view page) : page_(page), text_(as_prose(page)) {}

  // Calls take(groups) for each match that is not about a working case. If take() returns true, the match is consumed.
  template <class Take>
  void each(const RE2& pattern, Take&& take) {
    std::vector<std::pair<size_t, size_t>> read;
    each_match(pattern, text_, [&](const std::string* words, size_t at) {
      if (is_contrast(text_, at) || is_demanded(text_, at)) return;
      words_ = words[0];
      at_ = at;
      if (take(words)) read.emplace_back(at, words[0].size());
    });
    for (const auto& [at, size] : read) text_.replace(at, size, size, '\x01');
  }

  // The first value counts; further values are candidates.
  bool set(const std::string& field, Json value) {
    const auto told = std::find_if(question.fields.begin(), question.fields.end(),
                                   [&](const ToldField& one) { return one.field == field; });
    const bool is_first = told == question.fields.end();
    if (is_first || (told->value != value && question.others.size() < most_others))
      (is_first ? question.fields : question.others).push_back({field, std::move(value), line_at(page_, at_), words_});
    return is_first;
  }

  // Whether the pattern matches without a negation such as "no causal mask" or "without dropout". With `states`, "needs
  // bf16" does not count.
  bool says(const RE2& pattern, bool states = false) {
    static const RE2 denial(
        "(?:\\b(?:no|not|non|without|neither|instead of|nor|un)[*_]{0,2}[ -](?:an? |the |any )?(?:\\w+[ -])?)$",
        any_case());
    bool found = false;
    each_match(pattern, text_, [&](const std::string* words, size_t at) {
      const size_t begin = at - std::min<size_t>(at, 24);
      if (found || is_contrast(text_, at) || (states && is_demanded(text_, at)) ||
          has_words(std::string_view(text_).substr(begin, at - begin), denial))
        return;
      found = true;
      words_ = words[0];
      at_ = at;
    });
    return found;
  }

  ToldQuestion question;

 private:
  std::string_view page_;
  std::string text_;
  size_t at_ = 0;  // offset of the last match
  std::string words_;
};

RE2 any(const char* pattern) {
  return RE2(pattern, any_case());
}

// "q.shape=(2, 16, 4096, 320)", "query [2, 16, 4096, 320]", "k: torch.Size([…])", "v: bf16[2,4096,16,128]". A shape
// without a name is the query's.
void read_tuples(Reader& reader, bool heads_third) {
  static const std::string type = "(?:(?:bfloat|float|bf|f|fp)\\d{1,2}(?:_\\w{4,6})?)?",
                           numbers = "[\\[(]{1,3} ?(\\d+), ?(\\d+), ?(\\d+), ?(\\d+),? ?[\\])]",
                           names = "\\b(q|query|queries|k|key|keys|v|value|values|qkv|inputs?|tensors?)";
  static const RE2 named(names + "(?:\\.shape|_shape|\\.size\\(\\))?\\b[^\\[(\\d\\n]{0,24}" + type + numbers,
                         any_case()),
      unnamed("((?:[\\w.]+[ .])?\\b(?:shapes?|size ?=|ShapedArray|bfloat16|float16|bf16|f16))[^\\[(\\d\\n]{0,16}" +
                  type + numbers,
              any_case()),
      others("mask|bias|out|grad|lse|stats|table|weight|input|target|expanded", any_case());
  static const RE2 of_expand("sizes: ", any_case());  // shape in PyTorch's message about a mask
  const auto take = [&](const std::string* words, char which) -> bool {
    if (has_words(words[0], of_expand)) return false;
    const auto b = size_of(words[2]), second = size_of(words[3]), third = size_of(words[4]);
    static const RE2 last("(\\d+),? ?[\\])]$");
    std::string digits;
    if (!b || !second || !third || !RE2::PartialMatch(words[0], last, &digits)) return false;
    const auto d = size_of(digits);
    if (!d) return false;
    const int64_t heads = heads_third ? *third : *second, tokens = heads_third ? *second : *third;
    if (which == 'k') return any_set({reader.set("heads_kv", heads), reader.set("seqlen_kv", tokens)});
    if (which == 'v') return reader.set("head_dim_v", *d);
    return any_set({reader.set("batch", *b), reader.set("heads_q", heads), reader.set("seqlen_q", tokens),
                    reader.set("head_dim_qk", *d)});
  };
  reader.each(named, [&](const std::string* words) {
    return take(words, static_cast<char>(std::tolower(static_cast<unsigned char>(words[1][0]))));
  });
  if (reader.question.tells("head_dim_qk")) return;
  reader.each(unnamed, [&](const std::string* words) { return !has_words(words[1], others) && take(words, 'q'); });
}

void read_windows(Reader& reader, Json& mask) {
  static const RE2 pair = any("window(?:_size)?['\"]? ?[=:]? ?\\(? ?(-?\\d+), ?(-?\\d+) ?\\)?");
  static const RE2 sides =
      any("window of (\\d+) (?:keys |tokens )?(?:to the )?left and (\\d+) (?:keys |tokens )?(?:to the )?right");
  static const RE2 left = any("(?:window_left|left[ _]bound)['\"]?(?: ?(?:of|is|=|:))* ?(\\d+)");
  static const RE2 one = any(
      "(?:sliding[ _-])?window(?:s of|s ?[=:]|_size|[ _]size)?['\"]?(?: ?(?:of|is|=|:|was))* ?(\\d[\\d,]*k?)(?: keys| tokens)?");
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
  reader.each(left, [&](const std::string* words) {
    bound("window_left", words[1]);
    return true;
  });
  reader.each(one, [&](const std::string* words) {
    const auto size = size_of(words[1]);
    if (size && !mask.contains("window_left")) mask["window_left"] = *size - 1;
    return size.has_value();
  });
}

void read_mask(Reader& reader) {
  static const RE2 causal = any("\\bis_causal ?= ?True|\\bcausal\\b"), bottom = any("bottom[- _]?right"),
                   padding = any("\\bpadding[ _]?mask|\\bpadded\\b|\\bwith padding\\b|padding_causal");
  static const RE2 q_lengths = any("query lengths?(?: are| of|:)? (\\d[\\d, ]*(?:and \\d+)?)"),
                   kv_lengths = any("key lengths?(?: are| of|:)? (\\d[\\d, ]*(?:and \\d+)?)");
  static const RE2 packed = any(
      "\\bthd\\b|\\bpacked (?:sequences?|layout|batch|input|\\(|document)|sequence packing|\\bpacking\\b|\\bvar-?len|\\bragged|\\bcu_seq_?lens?(?:_\\w+)?(?: ?= ?(?:[^N\\s]|N[^o])|[^\\w =]| [^=]|$)|\\bjagged\\b|cumulative (?:sequence )?lengths");
  Json mask = Json::object();
  read_windows(reader, mask);
  if (reader.says(causal)) mask["causal"] = true;
  if (mask.contains("causal") && mask.contains("window_right")) mask.erase("window_right");
  if (reader.says(bottom)) mask["alignment"] = "bottom_right";
  if (reader.says(padding)) mask["padding"] = true;
  for (const auto& [pattern, key] : {std::pair(&q_lengths, "seqlens_q"), std::pair(&kv_lengths, "seqlens_kv")})
    reader.each(*pattern, [&, key = key](const std::string* words) {
      const auto sizes = sizes_of(words[1]);
      if (sizes.size() < 2 || mask.contains(key)) return false;
      mask[key] = sizes;
      reader.set("batch", static_cast<int64_t>(sizes.size()));
      return true;
    });
  if (reader.says(packed)) {
    reader.set("layout", "thd");
    mask["padding"] = true;
  }
  if (!mask.empty()) reader.set("mask", mask);
}

// A field, and the words before or after its number; the first matching group is the number.
struct SizeForm {
  SizeForm(const char* name, int64_t largest, const char* pattern, const RE2::Options& options = any_case())
      : field(name), most(largest), words(pattern, options) {}
  std::string field;  // "length" means Q's, or K/V's if Q already has a length
  int64_t most;
  RE2 words;
};

// Two sizes of one phrase: "head dimensions 192 for Q and K and 128 for V", "16 heads of 128", "4 sequences of 2048".
void read_pairs(Reader& reader) {
  static const struct {
    const char *first, *second;
    RE2 words;
  } pairs[] = {
      {"head_dim_qk", "head_dim_v",
       any("head[_ -]?(?:dim(?:ension)?s?|size)s?(?: of|:| =| are| is)? ?\\(?(\\d{2,4}) ?(?:/|(?:for|of) (?:Q and K|Q ?/ ?K|QK|queries and keys),?(?: and)?|\\(?qk\\)?,? and) ?(\\d{2,4})")},
      {"heads_q", "head_dim_qk", any("\\b(\\d{1,4}) heads of (?:size |dimension )?(\\d{1,4})\\b")},
      {"batch", "seqlen_q", any("\\b(\\d{1,5}) sequences of (\\d[\\d,]*k?)(?: tokens)?\\b")}};
  for (const auto& [first, second, words] : pairs)
    reader.each(words, [&, one = first, other = second](const std::string* found) {
      return any_set(
          {reader.set(one, size_of(found[1]).value_or(1)), reader.set(other, size_of(found[2]).value_or(1))});
    });
}

void read_sizes(Reader& reader) {
  static const RE2
      paged = any("\\bpaged\\b|page[_ ]table|block[_ ]table"),
      decode = any(
          "\\bdecod(?:e|ing) (?:steps?|phase|stage|attention|requests?|mode|path|batch(?:es)?|kernels?|shapes?|case|with|on|of|at|in|is|fails)\\b|"
          "\\b(?:for|in|during|while|at|paged|token|graph|batch|when) (?:\\w+ )?decod(?:e|ing)\\b|"
          "\\b(?:one|a single) (?:query|new token)\\b"),
      of_images = any("\\b(?:VAE|video|image|latent)s? (?:encode and |encoding and )?decod(?:e|ing)\\b");
  // In this order: "seqlen=4096 heads=16" does not mean 4096 heads.
  static const SizeForm forms[] = {
      {"head_dim_v", 1024, "\\b(?:d_v|head_?dim_v) ?[=:]? ?(\\d{2,4})\\b"},
      {"head_dim_qk", 1024,
       "\\b(?:head[_ -]?(?:dim(?:ension)?s?|size)|hdim|hd|d[-_]?head)(?:_qk)?s?['\"]?(?: ?(?:of|is|=|==|:|to|was))* ?\\(?(\\d{1,4})\\b"},
      {"head_dim_qk", 1024, "\\b(?:d_qk|D|d) ?= ?(\\d{2,4})\\b", exact_case()},
      {"heads_kv", 1024,
       "\\b(?:h_kv|h_k) ?= ?(\\d{1,4})\\b|\\b(\\d{1,4}) (?:kv|k/v|key[ /-]value|key) heads?\\b|\\b(?:num_(?:kv|key_value)_heads|n_kv_heads|kv[_ ]heads|heads_kv)['\"]?(?: ?(?:of|is|=|==|:))* ?(\\d{1,4})\\b"},
      {"heads_q", 1024,
       "\\b(?:num_(?:attention_|query_|q_)?heads|h_q|n_?heads?|nhead|heads(?:_q)?)['\"]?(?: ?(?:of|is|=|==|:))+ ?(\\d{1,4})\\b"},
      {"heads_q", 1024,
       "\\b(\\d{1,4}) (?:query |attention |q )?heads?\\b|\\b(?:num_(?:attention_|query_|q_)?heads|n_?heads?|nhead|heads(?:_q)?)['\"]?(?: ?(?:of|is|=|==|:))* ?(\\d{1,4})\\b"},
      {"block", 100'000,
       "\\b(\\d{1,5}) tokens (?:to|per|in|a|each) (?:a |the |each )?(?:block|page)\\b|\\b(?:page|block)[_ -]?size(?: ?(?:of|is|=|==|:))* ?(\\d{1,5})\\b|\\b(?:pages|blocks) of (\\d{1,5})\\b"},
      {"batch", 1'000'000,
       "\\bbatch(?:[_ -]?size)?['\"]?(?: ?(?:of|is|=|==|:))* ?(\\d{1,6})\\b|\\b(?:bsz|bs|B) ?= ?(\\d{1,6})\\b|\\b(\\d{1,5}) sequences\\b"},
      {"seqlen_q", most_size,
       "\\b(\\d{1,7}) (?:new tokens|queries|query tokens)\\b|\\b(?:s_q|seq_?len_?q|q_len|sq) ?[=:] ?(\\d{1,7})\\b"},
      {"seqlen_kv", most_size,
       "\\b(\\d{2,7}|\\d{1,4}k) (?:keys|cached tokens|tokens of cache)\\b|\\b(?:s_kv|seq_?len_?kv|kv_len|skv) ?[=:] ?(\\d{1,7})\\b"},
      {"length", most_size,
       "\\b(?:seq(?:uence)?s?[_ -]?len(?:gth)?s?|max_seq_len|context[_ -]len(?:gth)?|n_ctx)['\"]?(?: ?(?:of|is|=|==|:))* ?(\\d[\\d,]{0,8}k?)\\b|\\b(\\d[\\d,]{1,8}|\\d{1,4}k) tokens\\b|\\b(\\d{3,7}) at most\\b"},
      {"length", most_size, "\\b(?:S|L|T) ?= ?(\\d{1,3}(?:,\\d{3})+|\\d{2,7})\\b", exact_case()}};
  read_pairs(reader);
  for (const SizeForm& form : forms) {
    std::string field = form.field;
    if (field == "length") {
      if (!reader.question.tells("seqlen_q") && !reader.says(of_images) && reader.says(decode))
        reader.set("seqlen_q", 1);
      field = reader.question.tells("seqlen_q") ? "seqlen_kv" : "seqlen_q";
    }
    reader.each(form.words, [&](const std::string* words) {
      const auto size = size_of(!words[1].empty() ? words[1] : !words[2].empty() ? words[2] : words[3]);
      if (!size || *size > form.most) return false;
      return field == "block" ? reader.set("paged", Json{{"block_size", *size}}) : reader.set(field, *size);
    });
    if (field == "block" && reader.says(paged)) reader.set("paged", Json{{"block_size", 64}});
  }
}

// "fails if seq_len_kv == 0": the last batch entry has no keys.
void read_empty_keys(Reader& reader) {
  static const RE2 empty = any(
      "\\b(?:seq_?lens?_?kv|s_?kv|kv_(?:seq_?)?lens?) ?(?:==?|of|is) ?0\\b|\\bzero[- ]length (?:keys?|kv|sequences)|\\bbatch entr(?:y|ies) without keys");
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

void read_types(Reader& reader) {
  static const Worded<const char*> types[] = {{"fp8_e5m2", "e5m2"},
                                              {"fp8_e4m3", "\\bfp8\\b|\\bfloat8|e4m3|\\bmxfp8"},
                                              {"bf16", "\\bbf16\\b|bfloat16"},
                                              {"f16", "\\bf(?:p|loat)?16\\b|\\bhalf(?: precision)?\\b"},
                                              {"f32", "\\bf(?:p|loat)?32\\b|single precision"}};
  // The type next to a shape comes first: "q of shape (4, 1023, 12, 64) in float32", "q: bf16[2,4096,16,128]".
  static const std::string type = "\\b((?:bf|bfloat|fp|f|float)(?:8|16|32)(?:_\\w{4,6})?)";
  static const RE2 of_shape(
      type + "[\\[(]\\d+, ?\\d+, ?\\d+, ?\\d+|\\d+, ?\\d+, ?\\d+, ?\\d+,? ?[\\])][^\\n.;?\\[(\\d]{0,24}" + type + "\\b",
      any_case());
  const auto set_type = [&](const std::string& named) {
    for (const auto& [name, words] : types)
      if (!reader.question.tells("dtype") && has_words(named, words)) reader.set("dtype", name);
    return false;
  };
  reader.each(of_shape, [&](const std::string* found) { return set_type(found[1].empty() ? found[2] : found[1]); });
  // The type that a program gives its queries comes before types in prose.
  static const RE2 of_queries("\\bq(?:uery)? ?= ?\\w+(?:\\.\\w+)*\\([^\\n]{0,120}\\bdtype ?= ?(?:torch|jnp)\\.(\\w+)",
                              exact_case());
  reader.each(of_queries, [&](const std::string* found) { return set_type(found[1]); });
  for (const bool states : {true, false})
    for (const auto& [name, words] : types)
      if (!reader.question.tells("dtype") && reader.says(words, states)) reader.set("dtype", name);
  static const RE2 mxfp8 = any("\\bmxfp8");  // not "quantize_mxfp8"
  if (reader.says(mxfp8)) reader.set("fp8", "mxfp8");
  static const RE2 backward = any("\\bbackward|\\bbprop\\b|\\bgradients?\\b|\\bd[QKV]\\b|\\bgrad_[qkv]\\b"),
                   training = any("\\btraining\\b|\\bfine-?tun|requires_grad ?= ?True|\\bgrad_fn ?=");
  static const RE2 forward = any("\\bforward\\b|\\bfprop\\b|\\binference\\b|\\bprefill|\\bdecod");
  static const RE2 forward_alone = any("\\bforward only\\b|\\bonly (?:the )?forward\\b|\\binference\\b");
  if (reader.says(backward) || (reader.says(training) && !reader.says(forward)))
    reader.set("pass", "bprop");
  else if (reader.says(forward_alone))
    reader.set("pass", "fprop");
}

constexpr const char* usual_bias = "1hss";

void read_features(Reader& reader) {
  static const RE2 deterministic =
                       // Not "is it deterministic" or "make it deterministic", which are observations and wishes.
      any("\\bdeterministic(?:\\W{1,3}True| (?:mode|backward|bwd|bprop|algorithms?|kernels?|attention|pass|"
          "training|form|gradients?|d[QKV]|flag|set|and|with|on)\\b)|(?:, ?|\\(|and |with |\\ban? |\\bthe )deterministic\\b|\\bin deterministic\\b|--deterministic\\b|"
          "use_deterministic_algorithms\\(True|ALLOW_NONDETERMINISTIC_ALGO=0"),
                   alibi = any("\\balibi\\b"), sink = any("(?:^|[^-\\w])(?:attention[ _])?sinks?(?:[ _]token)?\\b"),
                   bias = any("\\b(?:attn_|attention )?bias\\b|additive mask");
  static const RE2 boolean = any("\\bbool(?:ean)? (?:attention )?masks?\\b"),
                   softcap = any("soft[- _]?cap\\w*(?: ?(?:of|is|=|:))* ?(\\d+(?:\\.\\d+)?)"),
                   dropout = any("dropout(?:_p|_rate| probability| rate)?(?: ?(?:of|is|=|:))* ?(0?\\.\\d+)");
  static const RE2 of_convolutions = any("\\bcudnn\\.deterministic\\b");
  // Observations, and parameters of a program.
  static const RE2
      observed = any("\\b(?:is|are|was|were) (?:fully |always )?deterministic\\b"),
      parameter = any(
          "\\bbias(?:: ?bool)? ?= ?(?:False|None|\\w+\\.bias)\\b|\\bbias: ?bool\\b|\\bimport [^\\n]{0,80}\\bbias\\b");
  for (const RE2* other : {&of_convolutions, &observed, &parameter})
    reader.each(*other, [](const std::string*) { return true; });  // not read as attention's
  if (reader.says(deterministic) && reader.set("deterministic", true) && !reader.question.tells("pass"))
    reader.set("pass", "bprop");
  if (reader.says(alibi)) reader.set("alibi", true);
  if (reader.says(sink)) reader.set("sink", true);
  if (reader.says(bias) && reader.set("bias", usual_bias)) reader.question.assumed.emplace_back("a bias of shape 1hss");
  if (reader.says(boolean)) reader.set("score_mod", "mask_boolean");
  for (const auto& [field, pattern] : {std::pair("softcap", &softcap), std::pair("dropout", &dropout)})
    reader.each(*pattern, [&, key = std::string(field)](const std::string* words) {
      const auto value = parse_number<double>(words[1].starts_with('.') ? "0" + words[1] : words[1]);
      return value && *value > 0 && reader.set(key, *value);
    });
}

// Chooses the framework of the call: a framework with a release first, then the one closest to cuDNN.
void choose_framework(ToldQuestion& question, std::string_view page, const TextFacts& facts) {
  static const Worded<const char*> names[] = {
      {"transformer-engine", "transformer[ _-]?engine|\\bNVTE_"},
      {"torch-varlen", "varlen_attn"},
      {"onnxruntime", "\\bonnx ?runtime\\b"},
      {"keras", "\\bkeras\\b"},
      {"tensorrt", "\\btensorrt\\b"},
      {"diffusers", "\\bdiffusers\\b"},
      // A type's name such as "torch.float32" does not show the program.
      {"torch", "\\bpytorch\\b|\\btorch(?:[^.\\w]|$)|torch\\.(?:nn|backends)|scaled_dot_product_attention|SDPBackend"},
      {"jax", "\\bjax\\b"}};
  static const RE2 varlen = any("varlen attention|varlen_attn");
  // A program that calls cuDNN itself may use PyTorch only for its tensors.
  static const RE2 direct = any("\\bcudnn\\.pygraph\\b|\\bcudnn[-_]frontend\\b|\\bFROST\\b|test_(?:sdpa|mhas)_\\w+"),
                   indirect = any("dot_product_attention|SDPBackend|transformer[ _-]?engine|\\bNVTE_|varlen_attn");
  if (has_words(page, direct) && !has_words(page, indirect)) return;
  // "pip install onnxruntime==1.24.4 torch==2.10.0" does not show that PyTorch computes.
  static const RE2 torch_computes =
      any("\\bpytorch\\b|\\btorch(?:[^=.\\w]|$)|\\btorch\\.|scaled_dot_product_attention|SDPBackend");
  const bool is_listed_only = facts.frameworks.size() > 1 && !has_words(page, torch_computes);
  for (const char* first : {"transformer-engine", "torch", "jax"})
    for (const auto& named : facts.frameworks)
      if (question.framework.empty() && named.starts_with(std::string(first) + "==") &&
          !(is_listed_only && named.starts_with("torch==")))
        question.framework = named;
  for (const auto& named : facts.frameworks)
    if (question.framework.empty() && !named.starts_with("tensorrt") &&
        !(is_listed_only && named.starts_with("torch==")))
      question.framework = named;
  for (const auto& [name, words] : names)
    if (question.framework.empty() && has_words(page, words)) question.framework = name;
  if (question.framework.starts_with("torch==") && has_words(page, varlen)) question.framework.insert(5, "-varlen");
  if (question.framework.empty()) return;
  try {
    const auto chosen = rules::choose_gates({question.framework}, "the text").front();
    if (chosen.is_known() && chosen.asked.empty()) return;
    if (chosen.gate->releases.empty()) {
      question.framework_note = fmt::format("the rules of {} are not public: only cuDNN is asked", chosen.gate->title);
      question.framework.clear();
      return;
    }
    const std::string read =
        chosen.release != nullptr ? chosen.release->version : chosen.gate->releases.front().version;
    question.framework_note = fmt::format("by the rules of {} {}, the known release nearest to {}", chosen.gate->title,
                                          read, question.framework.substr(question.framework.find("==") + 2));
    question.framework = chosen.gate->framework + "==" + read;
  } catch (const Error&) {
    question.framework.clear();
  }
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
    if (one.field != "bias" || one.value != usual_bias)
      words += " " + (one.value.is_string() ? one.value.get<std::string>() : one.value.dump());
    lines.insert(one.line);
  }
  return words.empty() ? ""
                       : fmt::format("{} (line{} {})", words, lines.size() == 1 ? "" : "s", fmt::join(lines, ", "));
}

ToldQuestion read_question(std::string_view page, const TextFacts& facts) {
  Reader reader(page);
  choose_framework(reader.question, page, facts);
  const bool heads_third =
      reader.question.framework.starts_with("jax") || reader.question.framework.starts_with("transformer-engine");
  read_types(reader);  // before the tuples, which contain types: "q: bf16[2,4096,16,128]"
  read_tuples(reader, heads_third);
  read_mask(reader);
  read_sizes(reader);
  read_empty_keys(reader);
  read_features(reader);
  ToldQuestion question = std::move(reader.question);
  if (question.framework.starts_with("jax") && question.tells("layout"))
    question.call = {{"packed", true}, {"offsets", true}, {"seqlen_q_given", true}, {"seqlen_kv_given", true}};
  return question;
}

}  // namespace attnprobe::explain
