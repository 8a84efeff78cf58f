#include "explain/words.hpp"

#include <cctype>
#include <initializer_list>

namespace attnprobe::explain {
namespace {

bool ends_sentence(std::string_view text, size_t at) {
  if (text[at] == '\n') return true;
  const bool is_mark = text[at] == '.' || text[at] == '?' || text[at] == '!' || text[at] == ';';
  return is_mark && (at + 1 == text.size() || std::isspace(static_cast<unsigned char>(text[at + 1])) != 0);
}

// The part of the sentence between these marks and words.
std::string_view part_at(std::string_view text, size_t at, std::string_view marks,
                         std::initializer_list<std::string_view> words) {
  const std::string_view sentence = sentence_at(text, at);
  size_t begin = std::min(static_cast<size_t>(text.data() + at - sentence.data()), sentence.size()), end = begin;
  // A comma of a shape, "[8, 16, 1, 64]", joins nothing.
  const auto is_in_brackets = [&](size_t i) {
    const size_t open = sentence.find_last_of("[]", i);
    return open != std::string_view::npos && sentence[open] == '[' && sentence.find(']', i) != std::string_view::npos;
  };
  const auto is_joint = [&](size_t i) {
    return (marks.find(sentence[i]) != std::string_view::npos && !is_in_brackets(i)) ||
           std::any_of(words.begin(), words.end(), [&](auto word) { return sentence.substr(i).starts_with(word); });
  };
  while (begin > 0 && !is_joint(begin - 1)) --begin;
  while (end < sentence.size() && !is_joint(end)) ++end;
  return sentence.substr(begin, end - begin);
}

const RE2& works_words() {
  static const RE2 works(
      "\\bruns? (?:it|through|fine|there)\\b|\\bruns\\b|\\bworks?(?: fine| well)?\\b|\\bworked\\b|(?:\\b(?:is|are|was|were)|it's) (?:fine|right|correct|"
      "as fast|accepted|ok)\\b|\\b(?:fine|ok(?:ay)?|happy) on\\b|\\b(?:is|are|was) (?:happy|unaffected)\\b|\\bfinish(?:es)?\\b|\\bsucceed(?:s|ed)?\\b|\\bpass(?:es|ed)\\b|no problem|\\bthere (?:is|are) no NaNs?\\b|\\b(?:is|are) (?:clean|finite)\\b|(?:gradients|grads|outputs?|:) finite\\b|\\bran (?:fine|ok|through|right)\\b|(?:->|=>) ?(?:\\w+ )?(?:selected|trains|builds|ran|on|right|correct)\\b|\\btrains(?:[,.;)\\n]|$| fine| well| as well| both| them| it)|\\bhas run\\b|\\bNaNs? (?:are|is) gone\\b|\\bnothing changed\\b|\u00e7a marche\\b|\\bfonctionne\\b|\\bfunktioniert\\b|\\bl\u00e4uft\\b|\\bfunciona\\b|\\xe6\\xb2\\xa1\\xe6\\x9c\\x89\\xe9\\x97\\xae\\xe9\\xa2\\x98|\\xe6\\xb2\\xa1\\xe9\\x97\\xae\\xe9\\xa2\\x98|\\xe6\\xad\\xa3\\xe5\\xb8\\xb8|\\b(?:also|prints) 0\\b|\\bwithout (?:an? |any )?(?:errors?|problems?|NaNs?|issues?|trouble)\\b|\\bno (?:issues?|errors?)\\b|\\btakes (?:it|them)\\b|"
      // A verdict in a list or a table: "H100: ok", "9.20 good, 9.21 hangs", "| passed |".
      "\\b(?:inference|forward|fprop|training|backward|bprop|bf16|fp16|fp8) ok\\b|(?:^|[:|=,>(-]|\\d) ?(?:ok(?:ay)?|good|yes|pass(?:ed)?|fine|supported|\xe2\x9c[\x93\x94\x85])\\s*(?:[,.;)|]|$)",
      any_case());
  return works;
}

const RE2& failure_words() {
  static const RE2 does_not(
      "(?:not|n't|never|no longer|cannot|nothing|hardly) |\\bonly works\\b|fail|refus|reject|garbage|gibberish|deviat|turns? (?:it |them )?down|throws|crash|hang|stall|wrong|\\bNaN|slow|error|differ|\\boff by\\b|incorrect|\\bzeros\\b|corrupt|\\xe6\\x8a\\xa5\\xe9\\x94\\x99|\\xe5\\xa4\\xb1\\xe8\\xb4\\xa5|"
      "\\b(?:nicht|keine?|pas)\\b|\\bno (?:me )?funciona|disabled|unsupported|falls? back|illegal|\\?|\\binstead of\\b|\\bbad\\b|\\bnone\\b|"
      "\\bno (?:available |viable |valid )?(?:engine|plan|kernel|execution|backend)|\\braise|\\bnot?\\s*(?:[,.;)|]|$)|\xe2\x9c[\x97\x98]|\xe2\x9d\x8c|"
      "\\bruns? (?:on |in |with )?(?:the )?(?:pytorch_)?(?:flash|FA-?\\d|math|efficient|memory|xla|unfused|triton|another)",
      any_case());
  return does_not;
}

// Whether the words are about a failure: not "there is no NaN".
bool fails(std::string_view part) {
  static const RE2 none(
      "\\bnothing changed\\b|\\b(?:no|without(?: an?| any)?) (?:NaNs?|errors?|crash\\w*|hangs?|wrong|problems?|issues?|trouble)\\b|\\berrors? (?:is |are |of |about )?\\d[\\d.]*e-\\d+",
      any_case());
  std::string words(part);
  RE2::GlobalReplace(&words, none, "");
  return has_words(words, failure_words());
}

}  // namespace

std::string_view sentence_at(std::string_view text, size_t at) {
  size_t begin = std::min(at, text.size()), end = begin;
  while (begin > 0 && !ends_sentence(text, begin - 1)) --begin;
  while (end < text.size() && !ends_sentence(text, end)) ++end;
  return text.substr(begin, std::min(end + 1, text.size()) - begin);
}

namespace {

// "Does it work with a window?", "whether fp8 runs there": a question about it, not a working case.
bool is_asked(std::string_view text, size_t at, std::string_view half) {
  static const RE2 in_question(
      "\\b(?:does|do|did|can|could|will|would|should)\\b[^,;]*\\b(?:works?|runs?|pass|finish|succeed|takes?|be fine)\\b|^\\W*(?:and |so |now )?(?:is|are|which|what)\\b",
      any_case()),
      indirect("\\b(?:whether|(?:know|see|sure|wonder\\w*|ask|tell me|check) if)\\b", any_case());
  static const RE2 foreign("\\b(?:marche|fonctionne|funktioniert|l\u00e4uft|funciona)\\b", any_case());
  const bool is_question = sentence_at(text, at).ends_with('?');
  return has_words(half, indirect) || (is_question && (has_words(half, in_question) || has_words(half, foreign)));
}

}  // namespace

bool is_contrast(std::string_view text, size_t at) {
  // "wrong while the forward is correct": each half counts on its own.
  const std::string_view half = part_at(text, at, ";", {" but ", " while ", " whereas "});
  if (!has_words(half, works_words()) || is_asked(text, at, half)) return false;
  if (!fails(half)) return true;
  // If it has both, only the part between commas counts.
  const std::string_view clause = part_at(text, at, ",;", {" but ", " while ", " whereas ", " and "});
  return has_words(clause, works_words()) && !fails(clause);
}

bool names_place(std::string_view text, size_t at) {
  static const RE2 place(
      "\\b(?:GB?[23]00|[AHBLTV]\\d{1,3}S?|RTX|[2345]0[5-9]0|Volta|Turing|Ampere|Ada|Hopper|Blackwell|sm_?\\d{2,3}|\\d{1,2}\\.\\d{1,2}(?:\\.\\d{1,2})?)\\b",
      exact_case());
  static const RE2 condition("^\\W*(?:if|when|once)\\b", any_case());
  const std::string_view half = part_at(text, at, ";", {" but ", " while ", " whereas "});
  return has_words(half, place) && !has_words(half, condition);
}

namespace {

// The words from there to the sentence's first word about something that works, if a failure follows; "".
std::string_view before_both(std::string_view text, size_t at) {
  const std::string_view sentence = sentence_at(text, at);
  re2::StringPiece works, fails;
  const re2::StringPiece all = piece(sentence);
  if (!works_words().Match(all, 0, all.size(), RE2::UNANCHORED, &works, 1)) return "";
  const auto first = static_cast<size_t>(works.data() - sentence.data());
  const auto begin = static_cast<size_t>(text.data() + at - sentence.data());
  if (begin >= first || !failure_words().Match(all, first, all.size(), RE2::UNANCHORED, &fails, 1)) return "";
  return sentence.substr(begin, first - begin);
}

}  // namespace

bool is_of_both(std::string_view text, size_t at) {
  return !before_both(text, at).empty();
}

bool is_heading(std::string_view text, size_t at) {
  return before_both(text, at).find(": ") != std::string_view::npos;
}

bool is_denied(std::string_view text, size_t at, size_t size) {
  static const RE2 before(
      "(?:(?:\\b(?:no|not|non|none of|nothing|without|neither|instead of|rather than|nor|un|never|weder|noch|kein(?:e[nrms]?)?|ohne|nicht|sans|aucune?|pas de)|n't)[*_]{0,2}[ -](?:(?:use|using|have|need|enable|enabling|set|setting|pass|passing) )?(?:an? |the |any |our |my )?(?:\\w+[- .])?|"
      "\\b(?:removed|dropped|disabled|got rid of) (?:an? |the |any |our |my |all )?)[`'\"]?$",
      any_case()),
      after(
          "^\\w*[`'\"]{0,2}(?: (?:mask(?:ing)?|is|are|was|were))* (?:(?:switched |turned )?off|disabled|removed)\\b|^\\w*[`'\"]? (?:(?:is|are|was|were) )?not (?:set|used|enabled|on|passed|given|there|needed|involved|active)\\b|"
          "^\\w* (?:ebenfalls |auch |sowieso )?nicht\\b|^\\w*[`'\"]{0,2} ?(?:=|==|:) ?[`'\"]?(?:False|None|no|off|0(?:\\.0+)?)\\b(?:[^.\\d]|\\.\\s|\\.?$)",
          any_case());
  // Of a list: "no dropout, bias or sink".
  static const RE2 list(
      "\\b(?:no|without|neither|don't use|not (?:use|using|planning|planned|needing)|removed|dropped)\\b(?: [\\w-]+){1,3}(?:, [\\w -]{1,24}){0,3}(?:,|,? (?:n?or|and))? (?:an? |any |the )?$",
      any_case()),
      goes_on("^[\\w ,-]{0,40} n?or\\b", any_case()), is_last("\\bn?or (?:an? |any |the )?$", any_case()),
      removes("\\b(?:removed|dropped)\\b[^,;]* and (?:the )?$", any_case());
  const auto last = [&](size_t most) { return letters_before(text, at, most); };
  const std::string_view rest = text.substr(std::min(at + size, text.size()), 64), clause = last(64);
  // "Can't drop ALiBi", "Isn't fp8 possible?"
  static const RE2 keeps(
      "(?:n't|\\bnot|\\bcannot|\\bnever) (?:\\w+ )?(?:drop|remove|disable|avoid|give up|do without|live without|switch off) (?:an? |the |any |our |my )?$",
      any_case()),
      negates(
          "(?:^|[,;:] |\\b(?:and|but|or|so|why) )\\W*(?:is|are|does|do|can|could|will|would|did)(?:n't|(?: \\w+)? not) (?:an? |the |any )?(?:\\w+[- .])?$|\\b(?:is|are) there no ",
          any_case()),
      uses("(?:n't|\\bnot) (?:use|using|have|need|enable|set|pass)\\b|\\b(?:with|and) no ", any_case());
  if (has_words(last(40), keeps)) return false;
  const std::string_view sentence = sentence_at(text, at);
  const std::string_view said = sentence.substr(0, static_cast<size_t>(text.data() + at - sentence.data()));
  const bool is_negative_question = sentence.ends_with('?') && has_words(said, negates) && !has_words(last(32), uses);
  if (!is_negative_question && has_words(last(32), before)) return true;
  if (has_words(rest, after)) return true;
  return (has_words(clause, list) &&
          (has_words(clause, is_last) || (clause.ends_with(", ") && has_words(rest, goes_on)))) ||
         has_words(clause, removes);
}

bool is_compared(std::string_view text, size_t at) {
  static const RE2 than("\\b(?:than|of what) (?:an? |the |our )?$", any_case()),
      other("\\b(?:an)?other\\b", any_case());
  const std::string_view before = letters_before(text, at, 32);
  return has_words(before, than) && !has_words(before, other);
}

bool is_of_another_kernel(std::string_view text, size_t at) {
  static const RE2 another(
      "trtllm-gen|\\bFlashAttention\\b|\\bflash[-_]attn\\b|\\bFA-?[234]\\b|xformers|memory[- _]efficient|\\bmath (?:backend|kernel)|"
      "\\btriton\\b|SageAttention|\\bfor plain\\b|\\bcompared (?:to|with)\\b",
      any_case());
  static const RE2 ours("cudnn|fused|sdpa|scaled_dot", any_case());
  const std::string_view clause = part_at(text, at, ",;()", {" but ", " while ", " whereas "});
  return has_words(clause, another) && !has_words(clause, ours);
}

bool is_aside(std::string_view text, size_t at) {
  return is_of_another_kernel(text, at) || is_further(text, at);
}

bool is_further(std::string_view text, size_t at) {
  // Of several questions, the first one is about the call: "…, and does it work with dropout?"
  static const RE2 further(",? (?:and|or) (?:does|do|can|could|is|are|will|would|which|what|how|why)\\b", any_case());
  static const RE2 earlier("(?m)^(?:[^#\\n]*[.!] )?(?:\\S+ ){4}[^\\n]*\\?\\s", exact_case());
  const std::string_view sentence = sentence_at(text, at);
  if (!sentence.ends_with('?')) return false;
  const auto begin = static_cast<size_t>(sentence.data() - text.data());
  return has_words(text.substr(begin, at - begin), further) || has_words(text.substr(0, begin), earlier);
}

bool is_demanded(std::string_view text, size_t at) {
  constexpr size_t reach = 64;
  static const RE2 demand(
      "(?:\\brequires?\\b|\\bneeds?\\b|\\btrained (?:with|using)\\b|\\bexpects?\\b|\\bonly (?:on|for|with|supports?|runs?|works?)\\b|\\bsupported: ?\\{|\\bsuch as\\b)[^.;:!?\\n]{0,48}$|"
      "(?:^|[^-\\w])only\\b[^.;:!?,]{0,48}$|"
      "(?:\\xe5\\x8f\\xaa\\xe6\\x9c\\x89|\\xe9\\x9c\\x80\\xe8\\xa6\\x81) ?$|(?:\\bnon-|\\bnot an? |\\bno |\\bunlike (?:the )?)$|\\b(?:built|compiled|made) (?:for|with|against|on):?\\s{0,8}$",
      any_case());
  static const RE2 own(
      "\\b(?:(?:which|that|models?|layers?|calls?|attention) (?:also |really |still )?(?:needs?|requires?)|(?:do|does|did) (?:we|i|you) (?:need|require))\\b[^.;:!?\\n]{0,48}$|"
      "\\b(?:we|i) need\\b[^.;:!?\\n]{0,40}\\bon (?:an? |the |our )?$",
      any_case()),
      ours("\\b(?:we|i|you|they) only\\b[^.;:!?\\n]{0,48}$", any_case());
  // "forward only on an L4"
  static const RE2 of_pass("\\b(?:forward|fprop|backward|inference|prefill|training)[ -]only\\b[^.;:!?\\n]{0,48}$",
                           any_case());
  const std::string_view before = letters_before(text, at, reach);
  return has_words(before, demand) && !has_words(before, own) && !has_words(before, ours) &&
         !has_words(before, of_pass);
}

bool is_replaced(std::string_view text, size_t at, size_t size) {
  static const RE2 from(
      "\\b(?:went|moved|chang|switch|reduc|goes|going|lower|rais|cut|down)\\w*[^.;,\\n]{0,24}\\bfrom (?:an? |the )?$",
      any_case()),
      to("^[^.;,\\n]{0,12}\\bto \\d", any_case()),
      bound("\\b(?:unless|fewer than|less than|more than|below) (?:\\w+ )?$", any_case());
  const std::string_view before = letters_before(text, at, 48);
  return has_words(before, bound) ||
         (has_words(before, from) && has_words(text.substr(std::min(at + size, text.size()), 32), to));
}

bool begins_with_unit(std::string_view words) {
  static const RE2 unit("^\\W{0,2}(?:times|x\\b|%|[GM]i?B|m?s\\b|T?FLOP|tok|it/s|e-?\\d|over\\b|points?\\b)",
                        any_case());
  return has_words(words.substr(0, 12), unit);
}

bool is_built_with(std::string_view text, size_t at) {
  static const RE2 built("\\b(?:built|compiled|linked) (?:with|against):?\\s{0,8}$", any_case());
  return has_words(letters_before(text, at, 32), built);
}

std::string as_prose(std::string_view text) {
  constexpr size_t shortest_wrapped = 50;
  std::string prose(text);
  size_t begin = 0;
  for (size_t at = 0; at + 1 < prose.size(); ++at) {
    if (prose[at] != '\n') continue;
    const char next = prose[at + 1];
    if (at - begin > shortest_wrapped &&
        (std::islower(static_cast<unsigned char>(next)) != 0 || std::isdigit(static_cast<unsigned char>(next)) != 0))
      prose[at] = ' ';
    else
      begin = at + 1;
  }
  return prose;
}

}  // namespace attnprobe::explain
