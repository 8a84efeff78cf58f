// Reads shapes and sizes of a question from prose.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <string>

#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/question_reader.hpp"

namespace attnprobe::explain {
namespace {

constexpr int64_t most_size = int64_t{1} << 24;

// Whether any of the set facts is true.
bool any_set(std::initializer_list<bool> set) {
  return std::find(set.begin(), set.end(), true) != set.end();
}

}  // namespace

std::optional<int64_t> size_of(std::string digits) {
  std::erase(digits, ',');
  const bool is_k = !digits.empty() && (digits.back() == 'k' || digits.back() == 'K');
  if (is_k) digits.pop_back();
  const auto number = parse_number<int64_t>(digits);
  if (!number || *number < 1 || *number > most_size) return std::nullopt;
  return is_k ? *number * 1024 : *number;
}

namespace {

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
      {"seqlen_q", "seqlen_kv",
       any("\\b(\\d[\\d,]*k?) (?:query|q)(?: tokens)? and (\\d[\\d,]*k?) (?:key|kv|k/v)(?:/value)? (?:tokens|positions)\\b")},
      {"head_dim_qk", "head_dim_v",
       any("\\b(\\d{2,4}) for (?:q and k|q ?/ ?k|q, ?k|qk),?(?: and| with)? (\\d{2,4}) for v\\b")},
      {"head_dim_qk", "head_dim_v",
       any("head[_ -]?(?:dim(?:ension)?s?|size)s?(?: of|:| =| are| is)? ?\\(?(\\d{2,4}) ?(?:/|(?:for|of) (?:Q and K|Q ?/ ?K|QK|queries and keys),?(?: and)?|\\(?qk\\)?,? and) ?(\\d{2,4})")},
      {"head_dim_qk", "head_dim_v",
       any("\\b(?:d|hd|hdim|head|head[ _-]?dim(?:ension)?s?|d_?qk) ?=? ?(\\d{2,4}) ?/ ?(?:d_?v ?=? ?)?(\\d{2,4})\\b")},
      {"head_dim_v", "head_dim_qk",
       any("\\bV has (?:head[ _-]?dim(?:ension)? )?(\\d{2,4})(?: features)?,? (?:and |while |but )?(?:Q and K|K and Q|Q/K) have (\\d{2,4})\\b")},
      {"heads_q", "heads_kv", any("\\b(?:heads|gqa) ?=? ?(\\d{1,4})[/x](\\d{1,4})\\b")},
      {"heads_q", "heads_kv",
       any("\\bq(?:uer(?:y|ies))? (?:has|have|with|uses?) (\\d{1,4}) heads?\\b[^.\\n\\d]{0,24}\\b(?:k,? ?(?:and |/ ?|& ?)?v|keys?(?:(?: and|/) ?values?)?) (?:only |just )?(?:has|have|with|uses?) (?:only |just )?(\\d{1,4})\\b")},
      {"heads_q", "heads_kv", any("\\bh[ =]{1,3}(\\d{1,4})/(\\d{1,4})\\b|\\b(\\d{1,4})/(\\d{1,4}) heads\\b")},
      {"heads_q", "heads_kv",
       any("\\b(\\d{1,4}) (?:query|q|heads)(?: heads)? ?(?:[,/]|over|with|and|on)? ?(?:and )?(?:GQA )?(\\d{1,4})(?: ?(?:kv|k/v|key)(?: heads)?\\b)")},
      {"heads_q", "head_dim_qk", any("\\b([1-5]?\\d) ?x ?(64|80|96|128)(?:,|\\.)")},
      {"seqlen_q", "seqlen_kv", any("\\b(\\d{2,6}) ?x ?(\\d{2,6})(?: tokens| scores|,|\\.| attention)")},
      {"heads_q", "head_dim_qk",
       any("\\b(\\d{1,4}) heads ?(?:of|x|\\*|\u00d7) ?(?:size |dimension |dim )?(\\d{1,4})\\b")},
      {"batch", "seqlen_q", any("\\b(\\d{1,5}) sequences of (\\d[\\d,]*k?)(?: tokens)?\\b")}};
  for (const auto& [first, second, words] : pairs)
    reader.each(words, [&, one = first, other = second](const std::string* found) {
      const std::string* sizes = found + (found[1].empty() ? 2 : 0);
      return any_set(
          {reader.set(one, size_of(sizes[1]).value_or(1)), reader.set(other, size_of(sizes[2]).value_or(1))});
    });
}

}  // namespace

// "q.shape=(2, 16, 4096, 320)", "query [2, 16, 4096, 320]", "k: torch.Size([…])", "v: bf16[2,4096,16,128]". A shape
// without a name is the query's.
void read_tuples(Reader& reader, bool heads_third) {
  static const std::string
      type = "(?:(?:bfloat|float|bf|f|fp)\\d{1,2}(?:_\\w{4,6})? ?)?",
      numbers = "[\\[({]{1,3} ?(\\d+), ?(\\d+), ?(\\d+), ?(\\d+),? ?[\\])}]",
      names = "\\b(q[, /]{1,2}k[, /]{1,2}v|q|query|queries|k|key|keys|v|value|values|qkv|inputs?|tensors?)";
  static const RE2 named(names + "(?:\\.shape|_shape|\\.size\\(\\))?\\b[^\\[(\\d\\n]{0,24}" + type + numbers,
                         any_case()),
      unnamed(
          "((?:[\\w.]+[ .])?\\b(?:shapes?|size ?=|bshd|sbhd|bhsd|BTNH|BNTH|ShapedArray|bfloat16|float16|bf16|f16))[^\\[(\\d\\n]{0,16}" +
              type + numbers,
          any_case()),
      plain(
          "(?:" + names + "|\\b(?:bf16|fp16|f16|bfloat16|float16|shape|size))[ :=,]{1,3}(\\d+)x(\\d+)x(\\d+)x(\\d+)\\b",
          any_case()),
      ordered("()[\\[(](\\d+), ?(\\d+), ?(\\d+), ?(\\d+)[\\])],? ?(?:in )?(?:sbhd|bshd|bhsd|btnh|bnth)\\b", any_case()),
      others("mask|bias|out|grad|lse|stats|table|weight|input|target|expanded", any_case()),
      named_order("\\b(sbhd|bshd|bhsd|btnh|bnth)\\b", any_case());
  static const RE2 of_expand("sizes: ", any_case());  // shape in PyTorch's message about a mask
  // A mask's shape, the shape of another view, and torch.compile's buffers.
  static const RE2 of_others("\\b(?:attn_)?(?:mask|bias)\\b|reshape|expand|broadcast|\\bview|\\bFixedLayout\\b",
                             any_case());
  const auto take = [&](const std::string* words, char which) -> bool {
    if (has_words(words[0], of_expand)) return false;
    const auto b = size_of(words[2]), second = size_of(words[3]), third = size_of(words[4]);
    static const RE2 last("(\\d+),? ?(?:[\\])}],? ?(?:in )?(?:\\w{4})?)?$");
    std::string digits;
    if (!b || !second || !third || !RE2::PartialMatch(words[0], last, &digits)) return false;
    const auto d = size_of(digits);
    if (!d || *d == 1) return false;  // strides end in 1
    // No attention has more than 128 heads, so that an order may be clear from the sizes.
    constexpr int64_t most_heads = 128;
    const bool swapped = (*second > most_heads) != (*third > most_heads) && (*second > most_heads) != heads_third;
    const bool is_third = heads_third != swapped;
    int64_t batch = *b, heads = is_third ? *third : *second, tokens = is_third ? *second : *third;
    // "(2048, 2, 16, 128), sbhd"
    std::string order;
    if (RE2::PartialMatch(piece(reader.sentence()), named_order, &order)) {
      order = in_small_letters(order);
      const auto size = [&](const char* letters) {
        return std::array{*b, *second, *third}.at(order.substr(0, 3).find_first_of(letters));
      };
      batch = size("b");
      heads = size(order.ends_with('d') ? "h" : "n");
      tokens = size("st");
    }
    if (which == 'k') return any_set({reader.set("heads_kv", heads), reader.set("seqlen_kv", tokens)});
    if (which == 'v') return reader.set("head_dim_v", *d);
    return any_set({reader.set("batch", batch), reader.set("heads_q", heads), reader.set("seqlen_q", tokens),
                    reader.set("head_dim_qk", *d)});
  };
  const auto take_named = [&](const std::string* words) {
    const auto which = static_cast<char>(std::tolower(static_cast<unsigned char>(words[1][0])));
    const bool is_any_tensor = which == 't' || which == 'i';
    return !(is_any_tensor && has_words(reader.before(), of_others)) && take(words, which);
  };
  reader.each(named, take_named);
  reader.each(plain, take_named);
  reader.each(ordered, [&](const std::string* words) { return take(words, 'q'); });
  // "q = wq(x).view(B, T, 32, 128).transpose(1, 2)"
  static const RE2 view(
      "\\b([qk])\\w* ?=[^\\n=]{0,40}\\.(?:view|reshape)\\((?:\\w+|-1), ?(?:\\w+|-1), ?(\\d+), ?(\\d+)\\)", any_case());
  reader.each(view, [&](const std::string* words) {
    const auto heads = size_of(words[2]), d = size_of(words[3]);
    if (!heads || !d) return false;
    if (words[1] == "k") return reader.set("heads_kv", *heads);
    return any_set({reader.set("heads_q", *heads), reader.set("head_dim_qk", *d)});
  });
  if (reader.question.tells("head_dim_qk")) return;
  reader.each(unnamed, [&](const std::string* words) {
    return !has_words(words[1], others) && !has_words(reader.before(), of_others) && take(words, 'q');
  });
  if (reader.question.tells("head_dim_qk")) return;
  // The only shape of the text, without a name.
  static const RE2 bare("()[\\[({](\\d+), ?(\\d+), ?(\\d+), ?(\\d+)[\\])}]", any_case());
  reader.each(bare, [&](const std::string* words) {
    static const RE2 sizes("size", any_case());  // in PyTorch's messages
    return !reader.question.tells("head_dim_qk") && !has_words(reader.before(), others) &&
           !has_words(reader.before(), of_others) && !has_words(reader.before(), sizes) && take(words, 'q');
  });
}

void read_sizes(Reader& reader) {
  static const RE2
      paged = any("\\bpaged\\b|page[_ ]table|block[_ ]table"),
      decode = any(
          "\\bprefill\\b[^.;\\n]{0,32}\\b(?:match\\w*|agrees?|fine|ok|right|correct|identical|equal)\\b|"
          "\\bdecod(?:e|ing) (?:raises?|throws?|crash\\w*|hangs?|gives|does|doesn't|returns?|was)\\b|"
          "\\bdecod(?:e|ing) (?:steps?|phase|stage|attention|requests?|mode|path|batch(?:es)?|kernels?|shapes?|case|with|on|of|at|in|is|fails)\\b|"
          "\\b(?:for|in|during|while|at|paged|token|graph|batch|when) (?:\\w+ )?decod(?:e|ing)\\b|"
          "\\bdecod(?:e|ing)[,:;]|\\b(?:token[- ]by[- ]token|one token at a time|autoregressive)\\b|\\b(?:one|a single) (?:query|new token)\\b|"
          "\\b(?:each|every|per) (?:generated|new|output) token\\b"),
      of_images = any("\\b(?:VAE|video|image|latent)s? (?:encode and |encoding and )?decod(?:e|ing)\\b");
  // In this order: "seqlen=4096 heads=16" does not mean 4096 heads.
  static const SizeForm forms[] = {
      {"head_dim_qk", 1024, "\\bhead[ _]?dim\\b[^\\n]{0,48}\\bgot (\\d{1,4})\\b"},
      {"head_dim_qk", 1024,
       "\\bd_?qk ?= ?d_?v ?= ?(\\d{2,4})\\b|\\bq ?/ ?k ?/ ?v head[ _-]?dim\\w* (?:of )?(\\d{2,4})\\b"},
      {"head_dim_v", 1024,
       "\\b(?:d_?v|hd_?v|head_?dim_v|(?:v|value|values)[ _-]head[ _-]?dim(?:ension)?) ?(?:[=:]|of)? ?(\\d{2,4})\\b|\\bvalues? (?:of|with) (?:size|dim\\w*|width) (\\d{2,4})\\b"},
      {"head_dim_qk", 1024, "\\bkeys? (?:of|with) (?:size|dim\\w*|width) (\\d{2,4})\\b"},
      {"head_dim_qk", 1024,
       "\\b(?:head[_ -]?(?:dim(?:ension)?s?|size)|hdim|hd|d[-_]?head)(?:_qk)?s?['\"]?(?: ?(?:of|is|=|==|:|to|was))* ?\\(?(\\d{1,4})\\b"},
      {"head_dim_qk", 1024,
       "\\b(\\d{2,4}) per head\\b|\\b(\\d{2,4})[ -]dim(?:ensional)? heads?\\b|\\bheads (?:of|of size|of dim|of dimension|x|\\*) (\\d{2,4})\\b"},
      {"head_dim_qk", 1024, "\\b(\\d{2,4})-wide heads?\\b|\\bdim_head ?[=:]? ?(\\d{2,4})\\b"},
      {"head_dim_qk", 1024,
       "\\b(?:d_qk|D|d|Dh) ?= ?(\\d{2,4})\\b|\\bd_qk (\\d{2,4})\\b|\\bd ?(64|80|96|112|128|160|192|256)\\b",
       exact_case()},
      {"head_dim_qk", 256, "\\bhidden[ _-]?dim(?:ension)? ?(?:of |is |= ?)?(\\d{2,3})\\b"},
      {"heads_kv", 1024,
       "\\b(?:h_?kv|h_k) ?= ?(\\d{1,4})\\b|\\b(\\d{1,4}) (?:kv|k/v|key[ /-]value|key) heads?\\b|\\b(?:num_(?:kv|key_value)_heads|num_gqa_groups|num[-_]query[-_]groups|num_heads_(?:kv|k)|n_kv_heads|kv[_ ]heads|heads_kv)['\"]?(?: ?(?:of|is|=|==|:))* ?(\\d{1,4})\\b"},
      {"heads_q", 1024,
       "\\b(?:num_(?:attention_|query_|q_)?heads(?:_q)?|h_?q|n_?heads?|nhead|heads(?:_q)?)['\"]?(?: ?(?:of|is|=|==|:))+ ?(\\d{1,4})\\b"},
      {"heads_q", 1024, "\\b[Hh] ?= ?(\\d{1,4})\\b", exact_case()},
      {"heads_q", 1024,
       "\\b(\\d{1,4}) (?:query |attention |q )?heads?\\b|\\b(\\d{1,4}) ?(?:\\xe4\\xb8\\xaa)?(?:\\xe6\\xb3\\xa8\\xe6\\x84\\x8f\\xe5\\x8a\\x9b)?\\xe5\\xa4\\xb4|\\b(?:num_(?:attention_|query_|q_)?heads|n_?heads?|nhead|heads(?:_q)?)['\"]?(?: ?(?:of|is|=|==|:))* ?(\\d{1,4})\\b"},
      {"block", 100'000,
       "\\b(\\d{1,5}) tokens (?:to|per|in|a|each) (?:a |the |each )?(?:block|page)\\b|\\b(?:page|block)[_ -]?size(?: ?(?:of|is|=|==|:))* ?(\\d{1,5})\\b|\\b(?:pages|blocks|page) (?:of )?(\\d{1,5})\\b"},
      {"batch", 1'000'000,
       "\\bbatch(?:[_ -]?size)?['\"]?(?: ?(?:of|is|=|==|:))* ?(\\d{1,3}(?:,\\d{3})+|\\d{1,6})\\b|\\b(?:bsz|bs|B) ?= ?(\\d{1,6})\\b|\\b(\\d{1,3},\\d{3}|\\d{1,5}) (?:sequences|prompts|requests)\\b"},
      {"seqlen_q", most_size,
       "\\b(\\d{1,7}) (?:new tokens|queries|query tokens)\\b|\\bq(?:uery)? (?:length|len|L\xc3\xa4nge)(?: of)? (\\d{1,7})\\b|\\b(?:s_q|(?:max_)?seq_?len_?q|q_len|sq)['\"]? ?[=:]? ?(\\d{1,7})\\b"},
      {"seqlen_kv", most_size,
       "\\b(\\d{2,7}|\\d{1,4}k) (?:keys|cached tokens|tokens of cache)\\b|\\b(?:s_kv?|(?:max_)?seq_?len_?kv?|kv?_len|skv?)['\"]? ?[=:]? ?(\\d{1,7})\\b"},
      {"seqlen_kv", most_size, "\\bcross-?att\\w+ (?:to|over|with) (\\d{1,7}) (?:\\w+ )?tokens\\b"},
      {"seqlen_kv", most_size,
       "\\b(?:K/?V|keys?(?:/values?)?):? (?:of )?(?:1 ?x ?)?(\\d{1,3}(?:,\\d{3})+|\\d{2,7}) tokens\\b"},
      {"seqlen_q", most_size, "\\b(?:Q|quer(?:y|ies)):? (?:of )?(?:1 ?x ?)?(\\d{1,3}(?:,\\d{3})+|\\d{2,7}) tokens\\b"},
      {"length", most_size,
       "\\b(?:seq(?:uence)?s?[_ -]?len(?:gth)?s?|max_seq_?len|context[_ -]len(?:gth)?|n_ctx)['\"]?(?: ?(?:of|is|=|==|:))* ?(\\d[\\d,]{0,8}k?)\\b|\\b(\\d[\\d,]{1,8}|\\d{1,4}k) (?:tokens|jetons|patches)\\b|\\xe5\\xba\\x8f\\xe5\\x88\\x97(?:\\xe9\\x95\\xbf\\xe5\\xba\\xa6)? ?(?:\\xe4\\xb8\\xba|=)? ?(\\d{2,7})|\\b(\\d{3,7}) at most\\b"},
      {"length", most_size, "\\bseq(?:uence)? ?=? ?(\\d{2,7})\\b|\\b(\\d[\\d,]{1,8}) (?:frames|positions)\\b"},
      // In other languages.
      {"head_dim_qk", 1024,
       "(?:Kopfdimension|Kopfgr(?:\u00f6|oe)(?:\u00df|ss)e|dimension (?:de|des|par) t(?:\u00ea|e)tes?|\u5934\u7ef4\u5ea6|\u30d8\u30c3\u30c9\u6b21\u5143|\u0440\u0430\u0437\u043c\u0435\u0440 \u0433\u043e\u043b\u043e\u0432\u044b) ?[=:]? ?(\\d{2,4})"},
      {"heads_q", 1024,
       "(\\d{1,4}) ?(?:K(?:\u00f6|oe)pfen?|t(?:\u00ea|e)tes|\u4e2a\u5934|\u30d8\u30c3\u30c9|\u0433\u043e\u043b\u043e\u0432)"},
      {"length", most_size,
       "(?:Sequenzl(?:\u00e4|ae)nge|longueur(?: de s(?:\u00e9|e)quence)?|\u5e8f\u5217\u957f\u5ea6|\u30b7\u30fc\u30b1\u30f3\u30b9\u9577|\u7cfb\u5217\u9577) ?[=:]? ?(\\d[\\d.,]{1,8}k?)"},
      {"length", most_size, "\\b(?:at|with|of|over) (\\d{1,3}k)(?:[,.;:) ]|$)"},
      {"length", most_size, "\\b(\\d{1,4}k) (?:sequence length|sequences|context)\\b"},
      {"length", most_size, "\\blengths? (?:of |is |are )?(\\d{1,3}(?:,\\d{3})+|\\d{2,7})\\b"},
      {"length", most_size, "\\b(?:S|L|T|s) ?= ?(\\d{1,3}(?:,\\d{3})+|\\d{2,7})\\b", exact_case()}};
  // "B=Hq=Hkv=Sq=1"
  static const RE2 chain("\\b((?:\\w+ ?= ?){2,8})(\\d{1,6})\\b", exact_case()), name("(\\w+) ?=", exact_case());
  static const std::map<std::string, const char*> chained = {
      {"b", "batch"},     {"h", "heads_q"},     {"hq", "heads_q"},    {"hkv", "heads_kv"},    {"s", "seqlen_q"},
      {"sq", "seqlen_q"}, {"skv", "seqlen_kv"}, {"d", "head_dim_qk"}, {"dqk", "head_dim_qk"}, {"dv", "head_dim_v"}};
  reader.each(chain, [&](const std::string* words) {
    const auto size = size_of(words[2]);
    bool any = false;
    each_match(name, words[1], [&](const std::string* one, size_t) {
      std::string key = in_small_letters(one[1]);
      std::erase(key, '_');
      if (const auto field = chained.find(key); size && field != chained.end())
        any = reader.set(field->second, *size) || any;
    });
    return any;
  });
  // "8 heads x 320 frames x 64"
  static const RE2 of_one_line = any(
      "\\b(\\d{1,4}) heads ?(?:x|\\*|\u00d7) ?(\\d{1,7})(?: (?:frames|tokens|positions|queries))? ?(?:x|\\*|\u00d7) ?(\\d{2,4})\\b");
  reader.each(of_one_line, [&](const std::string* words) {
    const auto heads = size_of(words[1]), tokens = size_of(words[2]), d = size_of(words[3]);
    return heads && tokens && d &&
           any_set({reader.set("heads_q", *heads), reader.set("seqlen_q", *tokens), reader.set("head_dim_qk", *d)});
  });
  read_pairs(reader);
  // "8 x 16 x 4096"
  static const RE2 triple = any("\\b(\\d{1,4}) ?x ?(\\d{1,3}) ?x ?(\\d{3,6})\\b");
  reader.each(triple, [&](const std::string* words) {
    constexpr int64_t most_heads = 128;
    const auto batch = size_of(words[1]), heads = size_of(words[2]), tokens = size_of(words[3]);
    return batch && heads && tokens && *heads <= most_heads &&
           any_set({reader.set("batch", *batch), reader.set("heads_q", *heads), reader.set("seqlen_q", *tokens)});
  });
  static const RE2 one_head = any("\\b(?:one|a single) (?:query |attention )?head\\b");
  if (reader.says(one_head)) reader.set("heads_q", int64_t{1});
  const char* of_length = nullptr;  // the sentence of the first length
  for (const SizeForm& form : forms) {
    std::string field = form.field;
    if (field == "length") {
      if (!reader.question.tells("seqlen_q") && !reader.says(of_images) && reader.says(decode)) {
        reader.set("seqlen_q", 1);
        if (!reader.question.tells("pass")) reader.set("pass", "fprop");
      }
      field = reader.question.tells("seqlen_q") ? "seqlen_kv" : "seqlen_q";
    }
    reader.each(form.words, [&](const std::string* words) {
      const auto size = size_of(first_group(words));
      if (!size || *size > form.most) return false;
      if (field == "block") return reader.set("paged", Json{{"block_size", *size}});
      if (form.field != "length") return reader.set(field, *size);
      // A length of another sentence is of another case: "1152 tokens fail as well".
      const bool is_other = of_length != nullptr && of_length != reader.sentence().data();
      if (of_length == nullptr) of_length = reader.sentence().data();
      return reader.set(is_other ? "seqlen_q" : field, *size);
    });
    if (field == "block" && reader.says(paged) && reader.set("paged", Json{{"block_size", 64}}))
      reader.question.assumed.emplace_back(assumed_pages);
  }
  // "--hidden-size 5120 --num-attention-heads 40"
  static const RE2 width = any(
      "\\b(?:hidden[-_ ]size|d[-_]model|embed(?:ding)?[-_ ]dim(?:ension)?|n_embd|model[-_ ]dim(?:ension)?)\\W{1,4}(\\d{3,6})\\b");
  const auto heads = std::ranges::find(reader.question.fields, "heads_q", &ToldField::field);
  if (reader.question.tells("head_dim_qk") || heads == reader.question.fields.end()) return;
  const auto count = heads->value.get<int64_t>();
  reader.each(width, [&](const std::string* words) {
    constexpr int64_t most_head_dim = 1024;
    const auto all = size_of(words[1]);
    return all && *all % count == 0 && *all / count <= most_head_dim && reader.set("head_dim_qk", *all / count);
  });
}

}  // namespace attnprobe::explain
