// The fields of an attention config, one row each. Parsing, options, reports, descriptions, the JSON Schema and
// docs/config.md all use these rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "base/json_reader.hpp"

namespace attnprobe::attention {

/// For the docs: a member of a field's object form.
struct MemberDoc {
  std::string name = {}, help = {};
  Json schema = {};
  Json otherwise = {};  ///< the value if absent; null: none
  bool required = false;
};

struct Field {
  std::string name = {};  ///< JSON key; the option is the same with dashes: heads_kv, --heads-kv
  std::string help = {};  ///< one line; the allowed values are in `values` or the schema
  Json schema = {};       ///< JSON Schema of one value (arrays of values make a cross product)
  std::function<void(AttentionSpec&, const JsonView&)> set = {};  ///< throws Error(usage) at the place
  /// The value for this spec; null: omitted.
  std::function<Json(const AttentionSpec&)> get = [](const AttentionSpec&) { return Json(); };
  /// Whether the value differs from the default or from what other fields imply. If so, a command that repeats the
  /// question needs this option.
  std::function<bool(const AttentionSpec&)> given = {};
  /// The value in option form; none: the same as from get.
  std::function<Json(const AttentionSpec&)> brief = {};
  /// Its words in describe(), or "".
  std::function<std::string(const AttentionSpec&)> words = [](const AttentionSpec&) { return std::string(); };
  /// Whether the spec uses the field in a way that only flash attention (patterns sdpa*) supports.
  std::function<bool(const AttentionSpec&)> needs_flash = [](const AttentionSpec&) { return false; };
  std::string values = {};              ///< the allowed values in Markdown, if the schema does not express them well
  std::string otherwise = {};           ///< Markdown: the default; "": the value that get returns for an empty spec
  std::string notes = {};               ///< Markdown: more sentences for docs/config.md
  std::string example = {};             ///< a value as JSON text
  std::vector<MemberDoc> members = {};  ///< of its object form
  /// For a field with an object form: converts a value to that form, without default members; null: not set.
  std::function<Json(const JsonView&)> as_object = {};
  /// The members that a value in short form sets. Merged into an object, it keeps the other members …
  std::vector<std::string> set_by_word = {};
  bool is_whole_word = false;  ///< … or is refused, if the value excludes other members
  /// Words for several values: "training" is "fprop_train" and "bprop".
  std::vector<std::pair<std::string, std::vector<std::string>>> several = {};
  bool is_text = false;  ///< free text: commas make no list and no cross product
  bool is_word = false;  ///< a word even if it looks like a number: "1.30"
  /// The field that receives this member: {"sliding_window": 8} is {"mask": {"sliding_window": 8}}.
  std::string member_of = {};
  std::vector<std::string> also = {};  ///< other names of its option: "window"
  /// The fields that this shorthand sets.
  std::vector<std::string> stands_for = {};
  /// Other fields that a value sets: a shorthand's fields, and o_layout if `layout` names O.
  std::function<std::vector<std::string>(const Json&)> sets_also = {};
};

/// All fields, in the order that configs use; shorthands before their fields.
const std::vector<Field>& fields();

/// The description for --help and the JSON Schema: meaning, allowed values and default.
std::string help_line(const Field& field);

/// Whether all values of the field are integers, so that it may be a range (range.hpp).
bool is_number(const Field& field);

/// The values that a word of Field::several stands for, in any letter case; nullptr for other values.
const std::vector<std::string>* several_of(const Field& field, const Json& value);

/// "heads_kv" -> "--heads-kv".
std::string option_of(const std::string& field_name);

/// The field with that name or a name in Field::also, compared as plain words ("Heads-KV"); nullptr: none.
const Field* find_field(const std::string& name);

/// The config for exactly this spec, with every default written out.
Json to_json(const AttentionSpec& spec);

/// The options for this spec as quoted shell words, without defaults, name, source and expectation.
std::string to_options(const AttentionSpec& spec);

/// The fields as Markdown tables, for the marked part of docs/config.md.
std::string config_markdown();

/// A contradiction between fields, reported at one of them.
struct Contradiction {
  std::string field, message;
};
/// The contradictions of a spec. Cases that cuDNN itself refuses are not included.
std::vector<Contradiction> contradictions(const AttentionSpec& spec);

}  // namespace attnprobe::attention
