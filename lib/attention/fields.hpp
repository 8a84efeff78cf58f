// The fields of an attention config: a row each, from which parsing, command-line options, the normalised form in
// reports, the words for people, the JSON Schema and docs/config.md come.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "base/json_reader.hpp"

namespace attnprobe::attention {

/// A member of the object that a field may be, for the docs.
struct MemberDoc {
  std::string name = {}, help = {};
  Json schema = {};
  Json otherwise = {};  ///< where it is absent; null: nothing
  bool required = false;
};

struct Field {
  std::string name = {};  ///< JSON key; the option is the same with dashes: heads_kv, --heads-kv
  std::string help = {};  ///< what it is, on one line; what is allowed comes from `values` or the schema
  Json schema = {};       ///< JSON Schema of one value (arrays of values are the cross product)
  std::function<void(AttentionSpec&, const JsonView&)> set = {};  ///< throws Error(usage) at the place
  /// The value that gives what the spec has; null: it need not be written.
  std::function<Json(const AttentionSpec&)> get = [](const AttentionSpec&) { return Json(); };
  /// Whether the others, with what they leave to default, do not give this value already: then it is an option of the
  /// command that asks the same.
  std::function<bool(const AttentionSpec&)> given = {};
  /// The value as an option writes it; none: as get does.
  std::function<Json(const AttentionSpec&)> brief = {};
  /// What describe() says of it, "" for nothing.
  std::function<std::string(const AttentionSpec&)> words = [](const AttentionSpec&) { return std::string(); };
  /// Whether the spec uses it as only flash attention can (patterns sdpa*).
  std::function<bool(const AttentionSpec&)> needs_flash = [](const AttentionSpec&) { return false; };
  std::string values = {};              ///< what is allowed, in Markdown, where the schema does not say it as well
  std::string otherwise = {};           ///< Markdown: what holds where the field is absent; "": as get says of no spec
  std::string notes = {};               ///< Markdown: more sentences for docs/config.md
  std::string example = {};             ///< a value as JSON text
  std::vector<MemberDoc> members = {};  ///< of its object form
  /// Of a field that may be an object: a value as one, without the members that are as by default; null: none of it.
  std::function<Json(const JsonView&)> as_object = {};
  /// The members that a value which is not an object sets. Laid over an object, it keeps the others …
  std::vector<std::string> set_by_word = {};
  bool is_whole_word = false;  ///< … or is refused, where it means that there are no others
  /// Words that mean several values: "training" is "fprop_train" and "bprop".
  std::vector<std::pair<std::string, std::vector<std::string>>> several = {};
  bool is_text = false;  ///< free text: no comma lists, no cross product
  bool is_word = false;  ///< a word even where it looks like a number: "1.30"
  /// The fields that this shorthand sets.
  std::vector<std::string> stands_for = {};
  /// The other fields that a value gives too: those that a shorthand stands for, o_layout where `layout` names O.
  std::function<std::vector<std::string>(const Json&)> sets_also = {};
};

/// All fields, in the order in which configs are written; shorthands before what they stand for.
const std::vector<Field>& fields();

/// Its description for --help and the JSON Schema: what it is, what is allowed and what holds without it.
std::string help_line(const Field& field);

/// Whether its values are integers alone, so that it may be a range (range.hpp).
bool is_number(const Field& field);

/// The values that a word of Field::several means, whatever the case of its letters; nullptr for any other value.
const std::vector<std::string>* several_of(const Field& field, const Json& value);

/// "heads_kv" -> "--heads-kv".
std::string option_of(const std::string& field_name);

/// The config that gives exactly this spec, every choice spelt out.
Json to_json(const AttentionSpec& spec);

/// Options that give this spec on the command line (but for name, source and expectation), as words of a shell command
/// line, quoted where needed; what is the default is left out.
std::string to_options(const AttentionSpec& spec);

/// The fields as Markdown tables: what docs/config.md has between its markers.
std::string config_markdown();

/// A contradiction between fields, reported at one of them.
struct Contradiction {
  std::string field, message;
};
/// Those of a spec. What cuDNN itself refuses is left to cuDNN.
std::vector<Contradiction> contradictions(const AttentionSpec& spec);

}  // namespace attnprobe::attention
