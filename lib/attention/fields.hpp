// The fields of an attention config: one table that parsing, command-line options, the JSON Schema and the normalised
// form in reports all come from.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::attention {

/// A value that a field does not take. `pointer` is the place below the field ("/alignment"), usually "".
class FieldError : public std::runtime_error {
 public:
  FieldError(std::string pointer, const std::string& message)
      : std::runtime_error(message), pointer_(std::move(pointer)) {}
  explicit FieldError(const std::string& message) : FieldError("", message) {}
  const std::string& pointer() const { return pointer_; }

 private:
  std::string pointer_;
};

struct Field {
  std::string name;  ///< JSON key; the option is the same with dashes: heads_kv, --heads-kv
  std::string help;  ///< one line, for --help and the schema
  Json schema;       ///< JSON Schema of one value (arrays of values are the cross product)
  std::function<void(AttentionSpec&, const Json&)> set;  ///< throws FieldError
  bool is_text = false;                                  ///< free text: no comma lists, no cross product
  /// The other fields that a value gives too: those that a shorthand stands for, o_layout where `layout` names O.
  std::function<std::vector<std::string>(const Json&)> sets_also = [](const Json&) {
    return std::vector<std::string>();
  };
};

/// All fields, shorthands before what they stand for.
const std::vector<Field>& fields();

/// "heads_kv" -> "--heads-kv".
std::string option_of(const std::string& field_name);

/// The config that gives exactly this spec, every choice spelt out.
Json to_json(const AttentionSpec& spec);

/// Options that give this spec on the command line (but for name, source
/// and expectation), as words of a shell command line, quoted where needed.
std::string to_options(const AttentionSpec& spec);

/// Contradictions between fields, the first one found as field name and
/// message; "" if there is none. What cuDNN itself refuses is left to cuDNN.
struct Contradiction {
  std::string field, message;
};
std::vector<Contradiction> contradictions(const AttentionSpec& spec);

}  // namespace attnprobe::attention
