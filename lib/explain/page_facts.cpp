// Facts that need the whole page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/facts.hpp"
#include "explain/words.hpp"

namespace attnprobe::explain {
namespace {

// The program of a module's path or dotted name; null if unknown. If the path shows the package, the package decides:
// "site-packages/vllm/v1/attention/backends/flash_attn.py" is vLLM's.
const Program* program_of(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  constexpr std::string_view packages = "-packages/";
  const size_t root = path.rfind(packages);
  if (root != std::string::npos) path.erase(0, root + packages.size());
  // "vllm-0.9.1/" is vLLM's folder; "triton-env/" is not of Triton.
  const auto is_edge = [&](size_t at) {
    return at >= path.size() || std::string_view("/.\"").find(path[at]) != std::string_view::npos ||
           (path[at] == '-' && at + 1 < path.size() && std::isdigit(static_cast<unsigned char>(path[at + 1])) != 0);
  };
  const Program* found = nullptr;
  size_t furthest = 0;
  for (const Program& program : programs())
    for (const std::string& module : program.modules)
      for (size_t at = path.find(module); at != std::string::npos; at = path.find(module, at + 1)) {
        if (root != std::string::npos && at != 0) break;
        const size_t end = at + module.size();
        const bool is_file = std::string_view(path).substr(end).starts_with(".py");
        if ((at == 0 || is_edge(at - 1)) && is_edge(end) && !is_file && end > furthest) {
          found = &program;
          furthest = end;
        }
      }
  return found;
}

// Python's own modules only pass an error on: "…/lib/python3.12/importlib/__init__.py", "<frozen importlib._bootstrap>".
bool is_of_python(std::string_view path) {
  static const RE2 own(
      "^<frozen |[/\\\\][Ll]ib(?:64)?[/\\\\](?:python3\\.\\d+[/\\\\])?(?:importlib|ctypes|runpy|subprocess|threading|contextlib|"
      "concurrent|multiprocessing)\\b",
      exact_case());
  return has_words(path, own) && path.find("-packages") == std::string_view::npos;
}

// "…/site-packages/sklearn/…": sklearn.
std::string folder_of_module(const std::string& path) {
  static const RE2 folder("(?:site|dist)-packages[/\\\\]([\\w-]+)[/\\\\.]");
  std::string name;
  RE2::PartialMatch(path, folder, &name);
  return name;
}

// A dotted name in source, "import torch.nn", or in a list of packages is not a logger.
bool is_log_line(std::string_view line) {
  static const RE2 level(
      "\\b(?:ERROR|WARN(?:ING)?|CRITICAL|FATAL)\\b|\\[[EWF]:|(?:^|\\[)[EWF]\\d{4} |Error: |Warning: ", exact_case());
  return has_words(line, level);
}

// Whether a line contains a name that only the program's messages have.
bool has_own_name(std::string_view line, const Program& program) {
  return !program.says.empty() && line.find(program.says) != std::string_view::npos;
}

// Likewise for an exception. Its message may also begin with the program and its attention: "NotImplementedError:
// FlashInfer backend currently does not …".
bool says_its_name(std::string_view line, const std::string& exception, const Program& program) {
  if (has_own_name(line, program)) return true;
  static const RE2 attention("^ (?:attention |attn )?(?:backend|kernels?|attention)\\b", any_case());
  const std::string_view message =
      trim(line.substr(std::min(line.find(exception) + exception.size() + 1, line.size())));
  const std::string_view begin = message.substr(0, program.name.size());
  return in_small_letters(begin) == in_small_letters(program.name) &&
         has_words(message.substr(begin.size()), attention);
}

// Python's own exceptions, which a program's code raises before it calls cuDNN: "KeyError: None".
bool is_of_python_code(std::string_view message) {
  static const RE2 own(
      "^\\S{0,12} ?(?:KeyError|AttributeError|NameError|IndexError|UnboundLocalError|ZeroDivisionError)\\b|"
      "^\\S{0,12} ?TypeError: [^\\n]*(?:unexpected keyword argument|required (?:positional|keyword-only) argument)",
      exact_case());
  return has_words(message, own);
}

void find_raised(TextFacts& facts, std::string_view page) {
  static const RE2 frame("\\bFile \"([^\"]{1,400})\", line \\d+", exact_case());
  static const RE2 error(
      "^(?:\\S{0,12} )?((?:[\\w.]+\\.)?[A-Za-z]\\w*(?:Error|Exception)|(?:\\w+\\.)+(?:errors?|exc|exceptions?)\\.[A-Z]\\w+|(?:\\w+\\.)+OutOfResources)(?::|$| +Traceback)",
      exact_case());
  static const RE2 logger(
      "^\\W{0,3}(?:\\S+ ){0,4}(?:(?:ERROR|WARNING|WARN|CRITICAL)\\W{1,3})?\\[?(?:[EWF]:)?([a-z_]\\w+(?:\\.\\w+)+|onnxruntime)\\b",
      exact_case());
  std::string deepest, path;
  int64_t number = 0;
  Raised& raised = facts.raised;
  for (size_t begin = 0; begin < page.size();) {
    const size_t end = std::min(page.find('\n', begin), page.size());
    const std::string_view line = page.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    std::string name;
    if (RE2::PartialMatch(piece(line), frame, &path)) {
      if (!is_of_python(path)) deepest = path;
    } else if (RE2::PartialMatch(piece(line), error, &name)) {
      raised = {nullptr, "", "", std::string(trim(line)), deepest, number, false};
      if (!deepest.empty()) {
        raised.program = program_of(deepest);
        raised.how = "the deepest frame";
        raised.name = folder_of_module(deepest);
      } else if (name.find('.') != std::string::npos) {
        raised.program = program_of(name.substr(0, name.find('.')));
        raised.how = "the exception's class";
      }
      for (const Program& program : programs())
        if (raised.program == nullptr && says_its_name(line, name, program)) {
          raised.program = &program;
          raised.how = "the name in its message";
        }
      deepest.clear();
    } else if (raised.message.empty() && is_log_line(line)) {
      if (RE2::PartialMatch(piece(line), logger, &name) && program_of(name) != nullptr)
        raised = {program_of(name), "", "its logger", std::string(trim(line)), name, number, false};
      for (const Program& program : programs())
        if (raised.program == nullptr && has_own_name(line, program))
          raised = {&program, "", "the name in its message", std::string(trim(line)), "", number, false};
    }
  }
  if (raised.program == nullptr) return;
  raised.name = raised.program->name;
  const auto& parts = raised.program->to_cudnn;
  static const RE2 of_cudnn("cudnn", any_case());
  static const RE2 part_of_torch("\\btorch[./](onnx|jit|export|package|hub|utils[./]data)\\b", exact_case());
  std::string folder;
  const bool is_of_part = RE2::PartialMatch(raised.path.empty() ? raised.message : raised.path, part_of_torch, &folder);
  if (is_of_part) raised.name = "torch." + folder;
  raised.is_of_python_code = !raised.path.empty() && is_of_python_code(raised.message);
  raised.is_outside =
      !has_words(raised.message, of_cudnn) &&
      (raised.is_of_python_code || is_of_part || std::ranges::none_of(parts, [&](const std::string& part) {
         return part == "*" || raised.path.find(part) != std::string::npos;
       }));
}

// Whether the words deny a failure: "it does not hang", "whether results are wrong".
bool is_denied_trouble(std::string_view page, size_t at) {
  static const RE2 denial(
      "\\b(?:no|not|never|without|nor)[ -](?:\\w+ )?(?:or )?$|n't (?:\\w+ )?$|\\b(?:if anybody|whether)\\b[^.\\n]{0,24}$|\\b(?:what(?:'s| is| do i do| am i doing| did i do)|something|anything|do(?:ing)?) $",
      any_case());
  return has_words(letters_before(page, at, 48), denial);
}

// Whether the sentence there, or the one before, has these words.
bool is_said_here_or_before(std::string_view page, size_t at, const RE2& words) {
  const std::string_view sentence = sentence_at(page, at);
  const std::string_view before = trim(page.substr(0, static_cast<size_t>(sentence.data() - page.data())));
  return has_words(sentence, words) || (!before.empty() && has_words(sentence_at(before, before.size() - 1), words));
}

// Whether the words are about attention, or the sentence or one next to it: many programs compile. Tokens are of it.
bool is_near_attention(std::string_view page, size_t at, std::string_view words) {
  constexpr size_t reach = 320;
  static const RE2 attention("cudnn|sdpa|attention|\\battn|execution plan|\\bfmha", any_case()),
      of_models("\\btoken\\b|\\bRSS\\b|\\b(?:RAM|memory)\\b", any_case());
  if (has_words(words, of_models))
    return has_words(letters_before(page, at, reach), attention) || has_words(page.substr(at, reach), attention);
  static const RE2 of_calls("\\bcudnn_?[A-Z]\\w+|run_cudnn\\w*|\\bsdpa", exact_case());
  const std::string_view sentence = sentence_at(page, at);
  const std::string_view after =
      trim(page.substr(static_cast<size_t>(sentence.data() - page.data()) + sentence.size()));
  return is_said_here_or_before(page, at, attention) || (!after.empty() && has_words(sentence_at(after, 0), of_calls));
}

// Whether a refusal is of attention or a GPU, by its sentence or the one before.
bool is_refused_attention(std::string_view page, size_t at) {
  static const RE2 attention(
      "cudnn|sdpa|attention|\\battn|fmha|flash|fused|backend|kernel|\\bgraph|engine|plan\\b|head|\\bd ?= ?\\d|\\bmask|\\bbias\\b|dropout|window|fp8|causal|decod|prefill|train|backward|forward|gradient|"
      "\\b[AHBLT]\\d{1,3}S?\\b|\\bRTX\\b|\\bsm_?\\d|Hopper|Ampere|Blackwell|\\bthd\\b|packed|ragged|page",
      any_case());
  return is_said_here_or_before(page, at, attention);
}

// torch.compile compiles again, not cuDNN.
bool is_of_dynamo(std::string_view page, std::string_view words) {
  static const RE2 compiles("recompil", any_case()), dynamo("torch\\.compile|_dynamo", any_case()),
      plans("build_plans|BackendFinalize|execution plan", any_case());
  return has_words(words, compiles) && has_words(page, dynamo) && !has_words(page, plans);
}

// Whether another kernel runs where cuDNN was expected: "still flash, not cuDNN".
bool runs_another(std::string_view page) {
  static const RE2 another(
      "\\b(?:still|never|not|no longer) (?:(?:run|use|using|pick|chose|choose|choosing|taking|take|took|go|call|select|show|see|saw|reach|get)\\w* )?(?:on |in |with |to |through |by )?(?:the )?(?:cudnn|fused ?attention)(?:[.,;:!?)\\s]*$|[.,;:!?)\\n]| (?:and|but|at|on|in|for|when|although|even|attention|kernels?|any)\\b)|\\bcudnn\\b[^.,\\n]{0,24}(?:is|are|was|were)(?:n't| not) (?:being )?(?:used|picked|chosen|selected|called|taken)\\b|"
      "(?:cudnn|fused ?attention)[^.\\n]{0,32}\\b(?:skipped|ignored|unavailable)\\b|(?:cudnn|fused ?attention),? (?:is )?never\\b|\\bskip(?:s|ped) (?:cudnn|fused)|"
      "\\b(?:shows?|used?|uses|runs?|takes|picks|chooses|sees|gets|falls? (?:back )?(?:to|through)) (?:only |the |always )?(?:flash|FA-?\\d|math|efficient|xla|unfused)|"
      "\\b(?:flash|math|efficient|FA-?\\d|unfused|xla)\\w* (?:kernel |attention )?(?:is used|runs|was used|wins)\\b|\\b(?:flash|math)(?: attention| kernels?)? (?:always|every time|each time)|\\b(?:it's|is|was) (?:always|still|only) (?:the )?(?:flash|math|efficient|FA-?\\d)|\\border (?:is |was )?(?:being )?(?:ignored|not (?:respected|kept))\\b|\\binstead of (?:the )?cudnn|\\bexpected cudnn|\\bis unfused\\b|\\bsays flash|\\bstill flash",
      any_case()),
      switched_off(
          "\\b(?:disabled|switched off|turned off) cudnn|enable_cudnn_sdp\\(False|cudnn (?:is |was )?(?:disabled|switched off|turned off)",
          any_case());
  return has_words(page, another) && !has_words(page, switched_off);
}

void find_trouble(TextFacts& facts, std::string_view page) {
  static const Worded<Trouble>
      kinds[] =
          {
              {Trouble::hang,
               "\\bhangs?\\b|h\u00e4ngt\\b|\u5361\u4f4f|\u5361\u6b7b|\u0437\u0430\u0432\u0438\u0441\u0430\u0435\u0442|\u56fa\u307e|\\bhung\\b|\\bstalls?\\b|never (?:comes? back|returns?|finish\\w*|ends)|deadlock|\\bstuck\\b(?: ?[^ \\w]|$| [^a]| a[^t]| at (?:\\D|\\d+ ?%))|freez"},
              {Trouble::varies,
               "\\b(?:from )?run to run|different (?:results?|bits|numbers|values) (?:in )?(?:each|every|on every)|not reproducible|non-?determinis\\w+ (?:results?|output)|results? (?:vary|differ)(?: between| from| run)|\\b(?:is|are) not deterministic\\b|\\bsame seed\\b[^.\\n]{0,60}\\bdiffer"},
              {Trouble::wrong,
               "\\bwrong\\b|\\baccuracy (?:went|dropped|fell|drops|falls)\\b|incorrect|\\brubbish\\b|\\bnonsense\\b|gibberish|\\bNaNs?\\b|garbage|corrupt|\\bshifted\\b|cosine similarity|far from (?:it|the)|does(?:n't| not) match|\\b(?:results?|outputs?|numbers|numerical|gradients?|grads?|values?|accuracy|loss|logits?) mismatch|\\bmismatch(?:es|ed)? (?:in |of |with |between )?(?:the )?(?:results?|outputs?|gradients?|reference|eager|math|elements|cpu|unfused)|attends? across|\\bleaks? (?:across|into|between)|\\bstutter|\\brepeat(?:s|ed|ing) (?:the same )?(?:words|tokens)|\\bduplicated (?:words|tokens)|\\bbiased\\b|denormals|= ?0 exactly|other numbers|not respected|diverge|\\bInf\\b|inaccura|\\boff by\\b|nowhere near|too (?:large|small|big)\\b[^.\\n]{0,40}\\b(?:reference|compared)|"
               "\\b(?:max|abs|absolute|rel|relative)(?: abs\\w*)? err(?:or)?\\b|\\b(?:all|writes?|only|contains?|exactly) (?:exactly )?(?:zeros?|0\\.0)\\b|\\bzero gradients\\b|\\b(?:not|never) written\\b|\\bdeviat|\\bdiffers? from (?:the |a |my |our )?(?:\\w+ )?(?:reference|eager|math)"},
              {Trouble::memory,
               "out of memory|OutOfMemory|\\bOOM\\b(?:[^ ]|$| [^k])|memory (?:consumption|usage) (?:doubles|explodes|increases)|[GM]i?B of workspace|workspace of \\d|workspace_size\\(\\)[^\\n]{0,24}\\d"},
              {Trouble::crash,
               "segfault|SIGSEGV|segmentation fault|illegal (?:memory|instruction)|\\bcrash|core dumped|misaligned address|out[- ]of[- ]bounds|\\boverwrites?\\b|\\bsignal (?:6|8|11)\\b|CUDNN_STATUS_EXECUTION_FAILED|SIGABRT|SIGFPE|\\baborts?\\b"},
              {Trouble::compile_time,
               "\\btakes? (?:~|about |around )?[\\d.]+ ?(?:s|ms|sec\\w*|min\\w*)\\b[^.\\n]{0,40}\\b(?:each|every) (?:time )?(?:the |a )?(?:new )?(?:\\w+ )?(?:lengths?|shapes?)\\b|\\bplans? for (?:a|each|every) (?:new |unseen )?(?:shapes?|(?:sequence )?lengths?|sizes?)\\b|compil\\w+ (?:takes|time)|first call (?:[^\\n.]|\\.\\w){0,60}(?:takes|of each)|warm-?up takes|recompil\\w+ (?:\\w+ ){0,3}(?:for|each|every)|"
               "\\bplan (?:building|builds?)\\b[^.\\n]{0,60}\\b(?:takes?|costs?|slow\\w*|seconds?|\\d+ ?m?s|each|every|again|repeated\\w*|memory|time)\\b|\\b(?:slow|expensive|long|repeated|each|every|re-?runs?|time)\\b[^.\\n]{0,40}\\bplan (?:building|builds?)\\b|\\bGraph::build_plans\\b|\\b(?:inside|shows?|in|at|under) (?:the )?(?:cudnnBackendFinalize|build_plans)\\b|\\bfor the first ~?\\d+ steps\\b|\\bbuilds? (?:a |its |the )?(?:new )?plans? (?:for|on|at) (?:each|every)|"
               "\\b(?:build|creat|compil)ing (?:a |an |the |each )?(?:new )?(?:\\w+ )?(?:graph|plan)s? takes|(?:graph|plan)s? (?:is|are|gets?) (?:\\w+ )?(?:recreated|rebuilt)|"
               "\\b(?:overhead|latency|slow\\w*|delay)\\b[^\\n.]{0,40}\\bfirst (?:\\w+ ){0,3}(?:calls?|forward|steps?|iterations?)\\b|"
               "\\bfirst time (?:a|an|each|every|the) (?:\\w+ )?(?:length|shape|size) (?:occurs|appears|comes)\\b|\\b(?:at|on) (?:the )?first (?:sight|use|occurrence) of (?:a|each|every) (?:new )?(?:length|shape|size)\\b|\\btoken \\d+: [\\d.]+ ?ms\\b\\W{0,3}token \\d+: |\\b(?:each|every|per)\\W{1,3}(?:\\w+ ){0,2}(?:token|length|shape|size)\\W{1,3}(?:costs?|takes?|needs?) (?:~|about |around )?[\\d.]+ ?m?s\\b|"
               "(?:graph|plan)s? ?cache[^\\n.]{0,80}\\b(?:grow|without (?:a )?(?:bound|limit))|memory[^\\n.]{0,40}(?:grows|leak)[^\\n.]{0,60}(?:length|shape|sizes)|\\b(?:RSS|(?:host|CPU|system) (?:RAM|memory))\\b[^\\n.]{0,60}\\b(?:grows|leaks|climbs|increases)\\b|\\bfirst (?:request|batch|prompt) (?:with|of|at|for) (?:a|an|each|every) (?:\\w+ )?(?:length|shape|size)\\b"},
              {Trouble::slow,
               "\\bslow|takes? (?:about )?(?:an? )?\\w+ (?:longer|as long)|\\blonger\\b|regress(?:ed|es)\\b|regression(?:[^ ]|$| [^t])|throughput|times (?:as )?long"},
              {Trouble::refused,
               "refus|reject|turn(?:s|ed) \\w* ?(?:down|away)|not supported|unsupported|(?:is|are) not taken|NOT_SUPPORTED|\\bfails?\\b|disabled|no available|declin|falls? back|never runs on cudnn|does not run|Error\\b|"
               "\\b(?:is|are|was|were)(?:n't| not) (?:being )?(?:used|picked|chosen|selected|called|reached)\\b|\\b(?:does|do|did)(?:n't| not) (?:use|pick|choose|select|take|go)\\b|"
               "\\bunfused\\b|\\bfalls? (?:to|through)\\b|\\braise[sd]\\b|\\bno (?:execution )?plan\\b|\\bno (?:\\w+ ){0,3}attention backend|\\bno engine|\\bturns? (?:it |them )?down\\b|\\bthrows\\b|\\b(?:can't|cannot|can not) train\\b|\\b(?:does|do|did)(?:n't| not) compile\\b|\\bplan (?:does|did)(?:n't| not)\\b|\\breturns? nothing\\b"},
              {Trouble::question, "\\?"}};
  static const RE2 mended(
      "\\b(?:fixed|solved|resolved) (?:it )?on our side|\\bour (?:own )?(?:mistake|fault)\\b|\\bwas (?:wrong|broken)\\b[^.\\n]{0,60}\\buntil\\b|\\bnow (?:everything|it|all) (?:is|works)\\b|\\bnot a bug report\\b|\\bsorry for the noise\\b|\\[solved\\]|\\bunder RMA\\b|\\bneither cudnn nor\\b|\\bnothing is broken\\b|\\ball green\\b|\\bno errors? (?:so far|at all)\\b|\\bsee no errors? at all\\b",
      any_case());
  facts.is_mended = has_words(page, mended);
  if (facts.is_mended) return;
  facts.runs_another = runs_another(page);
  // A kernel that runs instead may need more memory and time.
  static const RE2 falls_back("\\b(?:falls?|fell|falling) (?:back )?(?:to|through)\\b|\\bunfused\\b", any_case());
  for (const auto& [kind, words] : kinds) {
    static const RE2 status("CUDNN_STATUS_[A-R]\\w+|CUDNN_STATUS_NOT_S\\w+|\\bNOT_SUPPORTED\\b", exact_case());
    if (kind == Trouble::compile_time && has_words(page, status)) continue;
    bool said = kind == Trouble::refused && facts.runs_another;
    const bool is_question = kind == Trouble::question,
               is_of_kernel = is_failure(kind) || kind == Trouble::varies;  // another kernel's is not cuDNN's
    each_match(words, page, [&, kind = kind](const std::string* match, size_t at) {
      if (kind == Trouble::compile_time && (!is_near_attention(page, at, match[0]) || is_of_dynamo(page, match[0])))
        return;
      static const RE2 of_another_report("#\\d{2,6} (?:is|was|only|covers)\\b", exact_case());
      if (is_of_kernel && has_words(sentence_at(page, at), of_another_report)) return;
      if (kind == Trouble::refused && !is_refused_attention(page, at)) return;
      const bool is_no_failure = is_of_kernel && (is_of_another_kernel(page, at) || is_denied_trouble(page, at));
      said = said || is_question || (!is_contrast(page, at) && !is_no_failure);
    });
    if (!said) continue;
    const bool is_consequence = kind == Trouble::memory || kind == Trouble::slow;
    facts.trouble = is_consequence && has_words(page, falls_back) ? Trouble::refused : kind;
    return;
  }
}

// The innermost function of a trace decides whether it is about attention, or the line there: "gemm_base.py:3534 in
// _cudnn_gemm_fp8", "out = self.lstm(x)".
void find_operation(TextFacts& facts, std::string_view page) {
  static const RE2 frame(
      "(?m)(?:, line \\d+, in |\\.py\"?,? line \\d+,? (?:in )?|\\.py:\\d+ in |\\.py:\\d+\\(|\\.py\\(\\d+\\): )(\\w+)",
      exact_case()),
      code("^[\\w., ]*[=(]|\\w\\(", exact_case());
  std::string innermost;
  std::string_view next;  // the line after it
  each_match(frame, page, [&](const std::string* words, size_t at) {
    innermost = words[1];
    const size_t begin = std::min(page.find('\n', at), page.size() - 1) + 1;
    next = page.substr(begin, std::min(page.find('\n', begin), page.size()) - begin);
  });
  static const RE2 convolution("cudnn-conv|__cudnn\\$conv", exact_case()), fused("__cudnn\\$fmha", exact_case());
  if (has_words(page, convolution) && !has_words(page, fused)) facts.speaks_of_attention = false;
  static const RE2 fourier("\\bCUFFT_\\w+|\\bcuFFT error\\b", exact_case());
  const bool is_of_line = has_words(page, fourier) || is_of_another_operation(facts.raised.message) ||
                          (has_words(next, code) && is_of_another_operation(next));
  if (!facts.other_operations.empty() && (is_of_line || is_of_another_operation(innermost)))
    facts.speaks_of_attention = false;
}

}  // namespace

void add_facts_of_page(TextFacts& facts, std::string_view page) {
  static const RE2 works(
      "\\b(?:results?|outputs?|numbers|loss|values)\\b[^.\\n]{0,16}\\b(?:is|are|looks?|stays?) (?:all )?(?:correct|right|fine|good|ok(?:ay)?)\\b|"
      "\\b(?:training|inference|everything|it|model|program)(?: afterwards| else)? (?:runs|works)\\b(?: anyway| nevertheless| fine|, | and )|"
      "\\bresults? (?:match|agree)\\b|\\bplan is built\\b|\\bruns and\\b[^.\\n]{0,24}\\bright\\b",
      any_case());
  find_raised(facts, page);
  find_operation(facts, page);
  find_trouble(facts, page);
  facts.works = facts.trouble != Trouble::wrong && has_words(page, works);
  static const RE2 each_call(
      "\\b(?:at|on|for|in) (?:each|every)(?: single)? (?:call|step|iteration|forward|invocation)|"
      "\\b(?:each|every) (?:call|step|time|iteration) (?:takes|rebuilds|recompiles|builds|compiles)|"
      "\\b(?:recompil|rebuild|built|build)\\w* (?:\\w+ ){0,4}(?:every time|each time|(?:at|on|for) (?:each|every) (?:call|step))|"
      "what(?:ever| ?so ?ever) the (?:size|shape|length)|regardless of (?:the )?(?:size|shape|length)|even (?:with|for|if) (?:the )?same (?:shape|size|length)",
      any_case());
  facts.is_slow_each_call = facts.trouble == Trouble::compile_time && has_words(page, each_call);
  static const RE2 elsewhere(
      "\\b(?:same|identical(?:ly)?|also|just as)\\b[^.;\\n]{0,60}\\b(?:math|flash\\w*|eager|without cudnn|memory[- ]efficient|xformers)\\b|"
      "\\b(?:math backend|math|flash\\w*|eager|without cudnn|cudnn (?:is )?(?:disabled|off))\\b[^.;\\n]{0,60}\\b(?:same|identical(?:ly)?|also|too|just as|as well|likewise)\\b",
      any_case());
  if (is_failure(facts.trouble) || facts.trouble == Trouble::varies)
    each_match(elsewhere, page, [&](const std::string* words, size_t at) {
      static const RE2 of_input("\\bsame (?:code|inputs?|batch|script|data|call|model|config|shapes?|tensors?)\\b",
                                any_case());
      facts.is_same_elsewhere = facts.is_same_elsewhere ||
                                (!is_contrast(page, at) && !has_words(page.substr(at, words[0].size() + 12), of_input));
    });
  // Headings and questions of an issue's form are not the writer's.
  static const RE2 question("(?m)^(?:[^#*\\n][^\\n]{0,400})?\\?(?:\\s|$)", exact_case()),
      of_form(
          "(?i)Is your feature request related to a problem\\?|What happened\\?|What did you expect[^\\n?]*\\?|How (?:can|do) we reproduce[^\\n?]*\\?|What version[^\\n?]*\\?|Could this error message be improved\\?|Was the plugin compiled on a compatible CUDA and SM version\\?");
  std::string own(page);
  RE2::GlobalReplace(&own, of_form, "");
  facts.asks = has_words(own, question);
  static const RE2 numbered("\\((?:1|a|i)\\)[^?]*\\((?:2|b|ii)\\)[^?]*\\((?:3|c|iii)\\)", any_case());
  facts.has_many_questions = facts.asks && has_words(own, numbered);
  static const RE2 support(
      "\\b(?:does|do|is|are|can|will) [^?\\n]{0,120}\\bcudnn\\b(?:[^?.\\n]|\\.\\d){0,100}\\b(?:supported|supports?|works?|runs?|available)\\b(?:[^?.\\n]|\\.\\d){0,100}\\?|"
      "\\b(?:does|do|is|are|can|will) (?:[^?.\\n]|\\.\\d){0,100}\\b(?:supported|supports?|works?|runs?|available)\\b(?:[^?.\\n]|\\.\\d){0,100}\\bcudnn\\b(?:[^?.\\n]|\\.\\d){0,100}\\?",
      any_case());
  facts.asks_support = facts.asks && has_words(own, support);
  static const RE2 version(
      "\\b(?:which|what|any|minimum|minimal|least) (?:minimum |minimal |min |required )?(?:version of |release of )?cudnn\\b(?:[^?\\n]){0,60}\\b(?:needs?|needed|required?s?|supports?|supported|gives?|works?|fix(?:es)?|gets?|takes?|enables?|allows?|minimum|have|has)\\b[^?\\n]{0,120}\\?|"
      "(?:versi\u00f3n m\u00ednima|Mindestversion|version minimale|\u6700\u4f4e\u7248\u672c|\u6700\u4f4e\u30d0\u30fc\u30b8\u30e7\u30f3|\u043c\u0438\u043d\u0438\u043c\u0430\u043b\u044c\u043d)[^?]{0,160}\\?|"
      "\\b(?:needs?|requires?) which cudnn\\b[^?\\n]{0,80}\\?|\\b(?:oldest|earliest|lowest|first|minimum) (?:version of |release of )?cudnn\\b[^?\\n]{0,120}\\?|"
      "\\bsince (?:which|what|when)\\b[^?\\n]{0,60}\\bcudnn\\b[^?\\n]{0,120}\\?|\\bcudnn\\b[^?\\n]{0,60}\\bsince (?:which|what|when)\\b[^?\\n]{0,60}\\?",
      any_case());
  facts.asks_version = facts.asks && has_words(own, version);
  static const RE2 choice(
      "\\bhow (?:do|can|could|should|to|would)\\b[^?\\n]{0,80}\\b(?:switch|turn|select|choose|enabled?|disabled?|force|avoid|activate|exclude|opt)\\b[^?\\n]{0,120}\\?|"
      "\\b(?:which (?:switch|setting|option|variable)|possible to (?:select|choose|switch|turn|force)|(?:something|anything|a switch) to (?:switch|turn|select|choose))\\b[^?\\n]{0,120}\\?|"
      "\\b(?:does|do|is|will|would|did|why|when)\\b[^?\\n]{0,120}\\b(?:uses?|used|takes?|taken|picks?|picked|chooses?|choosing|chosen|prefers?|preferred|selects?|selecting|selected|using|taking|picking)\\b[^?\\n]{0,100}\\b(?:cudnn|fused ?attention)\\b[^?\\n]{0,100}\\?|"
      "\\bcudnn\\b[^?\\n]{0,40}\\bthe default\\b[^?\\n]{0,80}\\?|\\b(?:stop|keep|prevent)\\b[^?\\n]{0,60}\\bfrom (?:using|taking|choosing|picking|selecting)\\b[^?\\n]{0,60}\\?|"
      "\\b(?:do|must|should) i (?:have to |need to )?(?:switch|turn|enable|select|set)\\b[^?\\n]{0,60}\\?|"
      "\\b(?:run|used?|enabled|on|active|chosen|taken)\\b[^?\\n]{0,30}\\bby default\\b[^?\\n]{0,120}\\?|"
      "\\b(?:has|have)\\b[^?\\n]{0,40}\\bcudnn (?:attention )?(?:backend|kernel)[^?\\n]{0,80}\\?|\\bwhy (?:is |does )?(?:not|isn't|no) cudnn\\b[^?\\n]{0,60}\\?|\\bwhy (?:is|was|does|did) (?:cudnn|it) not (?:used?|chosen|choose|taken?|picked?|selected?|run)\\b[^?\\n]{0,60}\\?|"
      "\\bwhich of them is cudnn\\?|\\b(?:go|goes|going|run|runs|running|switch|switches|switching) (?:to|on|through) cudnn\\b[^?\\n]{0,80}\\?|\\bhave to force\\b[^?\\n]{0,60}\\?",
      any_case());
  facts.asks_choice = facts.asks && has_words(own, choice);
  static const RE2 other(
      "\\b(?:does|do|can|is|are|will)\\b[^?\\n]{0,40}\\b(?:flash[- ]?att\\w*|FA-?[234]|xformers|flex ?attention|triton|sageattention|llama\\.cpp)\\b[^?\\n]{0,60}\\bcudnn\\b[^?\\n]{0,60}\\?|"
      "\\banything (?:known|else)\\b[^?\\n]{0,80}\\?|\\b(?:worth|fast|faster|slower|quicker|better|identical|safe|broken|same (?:numbers|results?))\\b[^?\\n]{0,80}\\?|"
      "(?m)(?:^|[.?!,;:-] |\\band )(?:(?:for|in|with|on|by|from|to|at) )?(?:why|which|what|where|when|who|how (?:much|many|fast|come|does|is|to))\\b[^?\\n]{0,300}\\?",
      any_case());
  static const RE2 how("\\bhow (?:do|can|could|should) [^?\\n]{0,200}\\?|\\ba bug in [^?\\n]{0,40}\\?", any_case());
  static const RE2 listed("(?:nvidia[-_])?cudnn(?:[-_]cu\\d\\d)?(?: version)?[ :=v@(]{0,4}\\d[\\d.]*", any_case()),
      cudnn("cudnn|fused ?attention|\\bTE\\b|transformer[ _-]?engine", any_case());
  std::string unlisted(page);
  RE2::GlobalReplace(&unlisted, listed, "");
  facts.is_on_cudnn = has_words(unlisted, cudnn);
  // Questions in other languages may be about kernels, too.
  static const RE2 of_kernels(
      "\\b(?:kernels?|backends?|flash\\w*|fused|sdpa?|support\\w*|works?|working|runs?|possible|accept\\w*|takes?|taken|took|allow\\w*|"
      "limit\\w*|available|refus\\w*|reject\\w*|fall\\w*|enabled?|disabled?|engines?|fast|slow\\w*|why|ok|fine|GPUs?)\\b|[^\\x00-\\x7f]",
      any_case());
  facts.asks_elsewhere = facts.asks && !facts.is_on_cudnn;
  for (size_t at = own.find('?'); at != std::string::npos; at = own.find('?', at + 1))
    facts.asks_elsewhere = facts.asks_elsewhere && !has_words(sentence_at(own, at), of_kernels);
  facts.asks_other = facts.asks && (has_words(own, other) || (!facts.asks_choice && has_words(own, how)));
  static const RE2 unreleased(
      "\\bnightly\\b|\\b(?:built|build|compiled) from source\\b|\\bmain branch\\b|\\bdev build\\b", any_case());
  facts.is_unreleased = facts.frameworks.empty() && has_words(own, unreleased);
}

bool TextFacts::may_be_refused() const {
  if (is_failure(trouble) || trouble == Trouble::varies || trouble == Trouble::memory) return false;
  static const RE2 words("cudnn|attention|\\battn\\b|attn_mask|\\bsdpa?\\b|execution plan|engine|backend", any_case()),
      of_imports("^\\S{0,12} ?(?:ImportError|ModuleNotFoundError)\\b", exact_case());
  return raised.message.empty() || (has_words(raised.message, words) && !has_words(raised.message, of_imports));
}

std::string gpu_conflict(std::string_view message, const TextFacts& facts) {
  static const RE2 limits("\\b(?:only|supported on|supports?|requires?|needs?)\\b", any_case());
  static const RE2 sm("\\bsm[_ ]?(\\d{2,3})(?:[^.\\d]|\\.\\D|\\.?$)", any_case()), range("\\brange\\b", any_case());
  static const RE2 and_newer(
      "or (?:newer|higher|later|above)|and (?:newer|above|later)|\\+|at least|>=|(?:GPUs? )?or newer", any_case());
  static constexpr std::pair<const char*, int> least_of[] = {
      {"\\bAmpere\\b", 80}, {"\\bHopper\\b", 90}, {"\\bBlackwell\\b", 100}};
  const auto here = facts.all_sms();
  if (here.size() != 1 || !has_words(message, limits) || has_words(message, range)) return "";
  std::vector<int> allowed;
  each_match(sm, message,
             [&](const std::string* words, size_t) { allowed.push_back(parse_number<int>(words[1]).value_or(0)); });
  for (const auto& [words, least] : least_of)
    if (allowed.empty() && has_words(message, RE2(words, exact_case()))) allowed.push_back(least);
  if (allowed.empty()) return "";
  const bool newer = has_words(message, and_newer);
  const bool fits = std::any_of(allowed.begin(), allowed.end(),
                                [&](int one) { return here.front() == one || (newer && here.front() >= one); });
  if (fits) return "";
  return fmt::format("the message allows sm_{}{}; the GPU in the text is sm_{}", fmt::join(allowed, ", sm_"),
                     newer ? " or newer" : "", here.front());
}

}  // namespace attnprobe::explain
