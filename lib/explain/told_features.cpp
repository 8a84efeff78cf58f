// Reads data types and features of a question from prose.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/question_reader.hpp"

namespace attnprobe::explain {

void read_types(Reader& reader) {
  static const Worded<const char*> types[] = {{"fp8_e5m2", "e5m2"},
                                              {"fp8_e4m3", "\\bfp8\\b|\\bfp8_dpa ?= ?True|\\bfloat8|e4m3|\\bmxfp8"},
                                              {"bf16", "\\bbf16\\b|bfloat16"},
                                              {"f16", "\\bf(?:p|loat)?16\\b|\\bhalf(?: precision|[^ \\w]| [^o]|$)"},
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
  reader.each(of_shape, [&](const std::string* found) { return set_type(first_group(found)); });
  // PyTorch's message: a list of types, and then the call's.
  static const RE2 of_message("\\bof dtype: \\{[^}]*\\}\\. Got Query dtype: ([\\w:]+)", any_case());
  reader.each(of_message, [&](const std::string* found) {
    set_type(found[1] == "float" ? "float32" : found[1]);
    return true;
  });
  // The type that a program gives its queries comes before types in prose.
  static const RE2 of_queries("\\bq(?:uery)? ?= ?\\w+(?:\\.\\w+)*\\([^\\n]{0,120}\\bdtype ?= ?(?:torch|jnp)\\.(\\w+)",
                              exact_case());
  reader.each(of_queries, [&](const std::string* found) { return set_type(found[1]); });
  static const RE2 of_use = any("\\b(?:we|I) (?:use|run|have|stay (?:in|with)) (bf16|bfloat16|fp16|float16)\\b");
  reader.each(of_use, [&](const std::string* found) { return set_type(found[1]); });
  static const RE2 of_output = any(
      "\\b(bf16|fp16|f16|float16|bfloat16|half|fp32|f32|float32) (?:out(?:put)?s?|O)\\b|\\b(?:output|O|out) (?:is |stays |comes )?(?:in|as|of type|dtype) (bf16|fp16|f16|float16|bfloat16|half|fp32|f32|float32)\\b|"
      "\\bo_dtype ?[=:] ?(\\w+)|\\b(?:output|O) (?:is |stays )?(bf16|fp16|f16|float16|bfloat16|half|fp32|f32|float32)\\b");
  reader.each(of_output, [&](const std::string* found) {
    for (const auto& [name, words] : types)
      if (has_words(first_group(found), words)) return reader.set("o_dtype", name);
    return false;
  });
  // The type of a reference, of weights or of the cache is not the call's.
  static const RE2 of_reference = any(
      "\\bCPU\\b[^.\\n;,]{0,24}\\b(?:fp|float|f)(?:32|64)\\b|\\b(?:fp|float|f)(?:32|64)\\b[^.\\n;,]{0,12}\\b(?:on (?:the )?CPU|reference|loop|eager|naive|baseline)\\b|\\breference (?:in|is|of) (?:fp|float|f)(?:32|64)\\b");
  reader.each(of_reference, [](const std::string*) { return true; });
  static const RE2 of_weights = any(
      "(?:quantization|kv[_-]cache[_-]dtype|load[_-]format)\\W{1,3}fp8\\w*|\\bfp8[ -](?:weights|checkpoints?|kv[ _-]cache|models?)\\b");
  reader.each(of_weights, [](const std::string*) { return true; });
  // With this recipe, Transformer Engine computes attention in 16 bits.
  static const RE2 without_fp8 = any("\\bfp8_dpa\\W{1,3}False"), fp8 = any("\\bfp8\\w*");
  if (has_words(reader.rest(), without_fp8)) reader.each(fp8, [](const std::string*) { return true; });
  for (const bool states : {true, false})
    for (const auto& [name, words] : types)
      if (!reader.question.tells("dtype") && reader.says(words, states)) reader.set("dtype", name);
  static const RE2 mxfp8 = any("\\bmxfp8");  // not "quantize_mxfp8"
  if (reader.says(mxfp8)) reader.set("fp8", "mxfp8");
  static const RE2
      backward = any(
          "(?:\\b|_)backward|\\bbwd\\b|\\bbprop\\b|\\bgradients?\\b|\\bjax\\.grad\\b|\\bvalue_and_grad\\b|\\bd[QKV]\\b|\\bd_?(?:bias|sinks?)\\b|\\bgrad_(?:[qkv]|query|key|value)\\b|\\bgrads\\b|\\b[qkv]\\.grad\\b"),
      training = any(
          "(?:^|[^-\\w])training(?:[^ \\w]|$| (?:[^cijs]|c[^o]|i[^m]|j[^o]|s[^e]))|\\b(?:can|do|does|could|to|we|i) (?:i |we |it |you |one )?train\\b|\\btrainieren\\b|\\bentra(?:\u00ee|i)n(?:er|ement)\\b|\\bentren(?:ar|amiento)\\b|\u8bad\u7ec3|\u5b66\u7fd2|\u043e\u0431\u0443\u0447(?:\u0435\u043d|\u0430\u0442\u044c)|\\bfine-?tun|requires_grad ?= ?True|\\bgrad_fn ?=|\\btrain step\\b");
  static const RE2 forward = any("\\bforward\\b|\\bfprop\\b|\\binference\\b|\\bprefill|\\bdecod");
  static const RE2
      forward_said = any("(?:^|[^.\\w])(?:forward(?: pass)?|fprop)(?:[^(\\w.=]|\\.\\s|$)"),
      statistics = any(
          "\\b(?:LSE|logsumexp|stat(?:s|istics))\\b (?:is|are|was|were) (?:requested|wrong|generated|not written|written)\\b|\\bgenerate_stats ?= ?True|\\bstat(?:s|istics) requested|\\bwrong is (?:the )?(?:LSE|logsumexp|stat(?:s|istics))\\b");
  static const RE2 forward_alone = any(
      "\\bforward(?:[ -]pass)?[ -]only\\b|\\bno_grad\\b|\\binference_mode\\b|\\bmodel\\.eval\\(|\\bonly (?:the |in )?forward\\b|\\binference\\b|, (?:the )?(?:forward|fprop)(?: pass)?[.,;:?)]");
  if (reader.says(backward) || (reader.says(training) && !reader.says(forward)))
    reader.set("pass", "bprop");
  else if (reader.says(statistics))
    reader.set("pass", "fprop_train");
  else if (reader.says(forward_alone) ||
           (!has_words(reader.rest(), backward) && !has_words(reader.rest(), training) && reader.says(forward_said) &&
            !reader.before().ends_with(", in")))  // not "line 112, in forward"
    reader.set("pass", "fprop");
}

// "a float32 mask", "bias of shape [B, 1, 1, S]", "dBias"
void read_bias(Reader& reader) {
  static const RE2
      of_type =
          any("\\b(?:fp|float|f)32 (?:\\w+ ){0,3}(?:attn_?|attention )?(?:mask|bias)\\b|"
              "\\b(?:mask|bias) (?:\\w+ ){0,2}(?:in|of|is|are|as) (?:type )?(?:torch\\.|jnp\\.)?(?:fp|float|f)32\\b"),
      of_shape = any(
          "\\b(?:bias|mask)\\b(?:[^\\[(\\n.;),#]|, (?:of )?shape){0,32}[\\[(](\\d+|b|bs|bsz|batch), ?(\\d+|h|heads|nheads), ?(\\d+|s\\w*|l\\w*|t), ?(\\d+|s\\w*|l\\w*|t)[\\])]"),
      bias = any("(?:^|[^-\\w])(?:attn_|attention )?bias(?:[^-\\w]|$)|additive (?:attention )?mask|\\bd_?bias\\b"),
      with_gradient = any(
          "\\bd_?bias\\b|\\bbias[- ]grad|\\bgradients? of (?:the |a )?bias|\\b(?:bias|attn_mask) (?:with|needs|requires) (?:a |its )?grad|\\blearn (?:an? |the )?(?:\\w+ ){0,2}bias\\b|\\b(?:trainable|learn(?:ed|able)) (?:\\w+ )?bias\\b");
  static const RE2 parameter = any(
      "\\b(?:\\w+_)?bias(?:: ?bool)? ?= ?(?:False|None|\\w+\\.bias)\\b|\\bbias: ?bool\\b|\\bimport [^\\n]{0,80}\\bbias\\b");
  reader.each(parameter, [](const std::string*) { return true; });  // of a program
  Json read = Json::object();
  reader.each(of_type, [&](const std::string*) {
    read["dtype"] = "f32";
    return true;
  });
  reader.each(of_shape, [&](const std::string* words) {
    read["shape"] =
        fmt::format("{}{}{}s", words[1] == "1" ? "1" : "b", words[2] == "1" ? "1" : "h", words[3] == "1" ? "1" : "s");
    return true;
  });
  const bool has_gradient = reader.says(with_gradient);
  if (read.empty() && !has_gradient && !reader.says(bias)) return;
  if (has_gradient) read["grad"] = true;
  const bool is_shape_told = read.contains("shape");
  if (!is_shape_told) read["shape"] = usual_bias;
  if (!reader.set("bias", read.size() == 1 ? read["shape"] : read)) return;
  if (!is_shape_told) reader.question.assumed.emplace_back("a bias of shape 1hss");
  if (has_gradient) reader.set("pass", "bprop");
}

namespace {

// A feature that its words name.
struct Feature {
  const char* field;
  Json value;
  RE2 words;
  bool is_of_graphs = false;  ///< only of a program that builds cuDNN's graphs itself
};

const auto& simple_features() {
  static const Feature all[] = {
      {"alibi", true, any("\\balibi\\b")},
      {"sink", true,
       any("(?:^|[^-\\w])(?:attention[ _])?sinks?(?:[ _]token)?\\b|\\bd_?sinks?\\b|softmax_type\\W{1,4}learnable|\\blearnable softmax\\b")},
      {"block_mask", true, any("\\bblock[ _]mask\\b|\\bblock[- ]sparse\\b"), true},
      {"max_logit", true, any("\\bmax[ _-]logits?\\b|\\brow[ _-]?max(?:ima|imum)?\\b"), true},
      {"sum_exp", true, any("\\bsum[ _-]exp\\b|\\bsums? of (?:the )?exponentials"), true},
      {"stats_log2", true,
       any("\\bstats_use_log2\\b|\\b(?:stat\\w*|logsumexp|lse)\\b[^.;\\n]{0,32}\\b(?:base[- ]2|log2)\\b"), true},
      {"ragged_offsets", "i64",
       any("\\b(?:64[- ]bit|int64|i64)\\b[^.;\\n]{0,24}\\boffsets?\\b|\\boffsets?\\b[^.;\\n]{0,16}\\b(?:64[- ]bit|int64|i64)\\b"),
       true},
      {"rope", true,
       any("\\bfus(?:e|es|ed|ing)\\b[^.;\\n]{0,32}\\b(?:rope|rotary)\\b|\\b(?:rope|rotary)\\b[^.;\\n]{0,32}\\bfus(?:ed|ion)\\b"),
       true},
      {"score_mod", "mask_i32", any("\\b(?:int32|integer) (?:attention )?masks?\\b|\\bmask_i32\\b"), true},
      {"score_mod", "mask_i8", any("\\bint8 (?:attention )?masks?\\b|\\bmask_i8\\b"), true}};
  return all;
}

// "a score modifier with relu", "a tanh score_mod"
void read_score_modifier(Reader& reader) {
  static const std::string names = "(relu|tanh|sigmoid|gelu|swish|abs|sqrt|sin|exp|pow|max|document|arrow)",
                           modifier = "\\bscore[ _](?:mod|modifier|function)\\b";
  static const RE2 named(modifier + "[^.;\\n]{0,32}\\b" + names + "\\b|\\b" + names + " " + modifier, any_case()),
      plain(modifier, any_case());
  reader.each(named,
              [&](const std::string* words) { return reader.set("score_mod", in_small_letters(first_group(words))); });
  if (!reader.question.tells("score_mod") && reader.says(plain) && reader.set("score_mod", "tanh"))
    reader.question.assumed.emplace_back("a score modifier with tanh");
}

// "a bool mask of shape (8, 512, 512)", "attn_mask: torch.Size([2, 256])". Sizes count if the text has the lengths.
void read_mask_shape(Reader& reader) {
  ToldQuestion& question = reader.question;
  if (!question.framework.starts_with("torch")) return;
  static const RE2 shape = any("mask\\b[^\\[(\\n.;]{0,32}(?:\\(?\\[|\\()((?:\\d+, ?){1,3}\\d+)[\\])]"), size("\\d+");
  bool is_read = false;  // further ones are other cases
  reader.each(shape, [&](const std::string* words) {
    if (std::exchange(is_read, true)) return true;
    std::vector<int64_t> sizes;
    each_match(size, words[1], [&](const std::string* one, size_t) { sizes.push_back(number_in(one[0])); });
    if (sizes.size() < 4) question.call["mask_rank"] = sizes.size();
    if (sizes.size() != 3 && question.tells("seqlen_q")) {
      question.call["mask_rows"] = sizes[sizes.size() - 2];
      question.call["mask_columns"] = sizes.back();
    }
    return true;
  });
}

}  // namespace

void read_features(Reader& reader) {
  static const RE2 deterministic =
      // Not "is it deterministic" or "make it deterministic", which are observations and wishes.
      any("\\buse_deterministic_algorithm ?= ?True|\\bdeterministic(?:\\W{1,3}True| (?:\\w+ ){0,2}(?:mode|backward|bwd|bprop|algorithms?|kernels?|attention|pass|"
          "training|form|gradients?|d[QKV]|flag|set|and|with|on)\\b)|(?:, ?|\\(|and |with |\\ban? |\\bthe )deterministic\\b|\\bin deterministic\\b|--deterministic\\b|\\bbit-?wise (?:reproducible|identical) |"
          "use_deterministic_algorithms\\(True|ALLOW_NONDETERMINISTIC_ALGO=0");
  static const RE2
      boolean = any("\\bbool(?:ean)? (?:attention )?masks?\\b|\\bmasks?\\b[^.;\\n]{0,24}(?:\\b|_)bool(?:ean)? tensor"),
      softcap =
          any("soft[- _]?cap\\w*(?: ?(?:of|is|set|to|=|:|\\())* ?(\\d+(?:\\.\\d+)?)|\\bcap ?= ?(\\d+(?:\\.\\d+)?)"),
      dropout =
          any("(?:dropout|\\battn_p?drop)(?:_p|_rate|_prob| probability| rate)?(?: ?(?:of|is|=|:))* ?\\(?(0?\\.\\d+)");
  // PyTorch's switch of convolutions, in its lines and in prose, and a setting that only warns.
  static const RE2 of_convolutions = any("\\bcudnn\\.deterministic\\b"),
                   of_attention = any("deterministic_algorithm|DETERMINISTIC_ALGO|(?:^|[^.\\w])deterministic ?= ?True"),
                   only_warns = any("\\bwarn_only ?= ?True");
  // An observation.
  static const RE2 observed = any("\\b(?:is|are|was|were) (?:it |this |that |fully |always )*deterministic\\b");
  const bool is_of_convolutions = reader.says(of_convolutions) && !reader.says(of_attention);
  const bool only_warns_of_it = reader.says(only_warns);
  for (const RE2* other : {&of_convolutions, &observed})
    reader.each(*other, [](const std::string*) { return true; });  // not read as attention's
  if (!is_of_convolutions && !only_warns_of_it && reader.says(deterministic) && reader.set("deterministic", true) &&
      !reader.question.tells("pass"))
    reader.set("pass", "bprop");
  const std::string& framework = reader.question.framework;
  for (const Feature& feature : simple_features())
    if ((!feature.is_of_graphs || framework.empty()) && reader.says(feature.words))
      reader.set(feature.field, feature.value);
  if (reader.question.tells("stats_log2") && !reader.question.tells("pass")) reader.set("pass", "fprop_train");
  if (reader.says(boolean) && !framework.starts_with("torch"))
    reader.set("score_mod", "mask_boolean");
  else if (reader.says(boolean) && reader.set("bias", usual_bias))
    reader.question.assumed.emplace_back("a bias of shape 1hss, which PyTorch makes from a boolean mask");
  read_mask_shape(reader);
  // In other frameworks it is FlexAttention's.
  if (framework.empty() || framework.starts_with("jax") || framework.starts_with("transformer-engine"))
    read_score_modifier(reader);
  // "dropout_p=self.dropout if self.training else 0.0"
  static const RE2 inactive =
      any("\\.eval\\(\\)|\\bif self\\.training\\b|\\bonly (?:in|for|during) training\\b|\\beval(?:uation)? mode\\b");
  // "hidden_dropout 0.1, attention_dropout 0.0": of another layer, and none in attention.
  static const std::string attention_dropout =
      "\\batt(?:entio)?n[\\w ]{0,8}p?drop(?:out)?(?:_p|_prob|_rate|_probs_dropout_prob)?\\W{1,4}";
  static const RE2 of_another_layer = any(
      "(?:hidden|resid|embd|embedding|mlp|ffn|lstm|recurrent|classifier)[_ -]?(?:p?drop|dropout)(?:_prob|_rate)?\\W{1,4}0?\\.\\d+");
  static const RE2 none(attention_dropout + "0(?:\\.0+)?(?:[^.\\d]|$)", any_case()),
      some(attention_dropout + "0?\\.\\d*[1-9]", any_case());
  const bool has_dropout =
      !has_words(reader.rest(), inactive) && (!has_words(reader.rest(), none) || has_words(reader.rest(), some));
  reader.each(of_another_layer, [](const std::string*) { return true; });
  for (const auto& [field, pattern] : {std::pair("softcap", &softcap), std::pair("dropout", &dropout)})
    reader.each(*pattern, [&, key = std::string(field)](const std::string* words) {
      if (key == "dropout" && !has_dropout) return true;
      const std::string& digits = first_group(words);
      const auto value = parse_number<double>(digits.starts_with('.') ? "0" + digits : digits);
      return value && *value > 0 && reader.set(key, *value);
    });
}

namespace {

// Whether a field has this number.
bool has_number(const Json& value, int64_t number) {
  if (value.is_number()) return value == number;
  return value.is_structured() && std::ranges::any_of(value, [&](const Json& one) { return has_number(one, number); });
}

// A size that stands in the question, and that no field has: "16 heads x 256".
void find_unread_sizes(Reader& reader) {
  static const RE2 size("(?:^|[^\\w.-])(\\d{1,7})(k?)(?:[^\\w.%-]|\\.\\s|\\.?$|-d|-wide)", any_case()),
      other_before(
          "(?:driver|jetpack|cuda|python|ubuntu|debian|linux|rhel|rocky|windows|version|release|v|#|issue|pr|step|epoch|layers?|line|error|code|rank|rtx|gtx|pro|multiples? of|page|blocks?|top|fa|pytorch|torch|jax|gb|series|seed|since|year|november|october|september)[- :=#(]{0,3}$",
          any_case()),
      other_after(
          "^ ?(?:x |[GMTK]i?B|gb|ms\\b|s\\b|sec|min|hours?|days?|gpus?|nodes?|cards?|machines?|layers?|steps?|epochs?|workers?|times|W\\b|watts?|sms\\b|multiprocessors|bits?\\b|-?bit|years?|weeks?|ranks?|cores|threads|iterations?|runs?|ti\\b|super\\b|ada\\b|series|TFLOP)",
          any_case());
  ToldQuestion& question = reader.question;
  const std::string_view page = reader.rest();
  each_match(size, page, [&](const std::string* words, size_t at) {
    const size_t begin = page.find(words[1], at), end = begin + words[1].size() + words[2].size();
    const std::string_view sentence = sentence_at(page, begin);
    // In a short text, each sentence belongs to the question.
    constexpr size_t most_of_short = 400;
    constexpr int64_t least_size = 16;
    const int64_t number = parse_number<int64_t>(words[1]).value_or(0) * (words[2].empty() ? 1 : 1024);
    const bool is_short = page.size() < most_of_short && page.find('?') != std::string_view::npos;
    const bool is_of_question = sentence.ends_with('?') || sentence.find('\x01') != std::string_view::npos ||
                                (is_short && number >= least_size);
    static const RE2 of_gpu("^[345]0[5-9]0$", exact_case());
    if (!is_of_question || number < 3 || has_words(words[1], of_gpu) ||
        has_words(letters_before(page, begin, 20), other_before) || has_words(page.substr(end, 20), other_after))
      return;
    const bool is_known = std::ranges::any_of(question.fields, [&](const ToldField& one) {
      return has_number(one.value, number) || has_number(one.value, number - 1);
    });
    if (!is_known && question.unread.size() < 3) question.unread.push_back(words[1] + words[2]);
  });
}

}  // namespace

void find_unread(Reader& reader) {
  static const Worded<const char*> features[] = {
      {"softcap", "\\bsoft[- _]?cap\\w*"},
      {"dropout", "\\bdropout\\b"},
      {"mask", "\\bsliding[- _]window\\w*|\\bwindowed attention"},
      {"",
       "\\b(?:tree mask|speculative decoding|int4|int8|(?:NV|MX)?FP4|fp64|float64|double precision|document mask|overrid\\w+ shapes?|dynamic (?:shapes?|sizes?)|sigmoid|prefix[- ]LM|chunk(?:ed|s) of|top-?k|sparse|block[- ]diagonal|double backward|second derivative|(?:t|bs|sb)3hd|interleaved|dilated|transposed|non-?contiguous|strided|prefix sums|base[- ]2)\\b"}};
  ToldQuestion& question = reader.question;
  for (const auto& [field, words] : features) {
    const auto told =
        std::ranges::find_if(question.fields, [&, name = field](const ToldField& one) { return one.field == name; });
    const bool is_read =
        told != question.fields.end() && (told->field != "mask" || told->value.contains("window_left"));
    if (is_read || !reader.says(words)) continue;
    const bool is_in_field = std::ranges::any_of(
        question.fields, [&](const ToldField& one) { return one.words.find(reader.words()) != std::string::npos; });
    if (!is_in_field) question.unread.push_back(reader.words());
  }
  find_unread_sizes(reader);
}

}  // namespace attnprobe::explain
