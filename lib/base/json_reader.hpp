// The strict JSON reader. It refuses ambiguous text. Every error names the text, the JSON pointer, the value and what
// is allowed.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "base/enum_words.hpp"
#include "base/error.hpp"
#include "base/json.hpp"

namespace attnprobe {

/// Names the text in messages.
struct JsonSource {
  std::string name;                   ///< "bert.json", "--mask", "operation graph"
  std::string joint = ": ";           ///< between the name and a JSON pointer: "bert.json: /configs/0"
  bool is_file = true;                ///< a syntax error names the line; otherwise it quotes the text
  ErrorKind kind = ErrorKind::usage;  ///< the kind of every error: internal for built-in data
};

struct JsonRules {
  bool comments = true;  ///< skips "//" and "/* */"
  size_t deepest = 256;  ///< maximum nesting of objects and arrays, because functions that walk or free JSON are
                         ///< recursive
};

/// Throws Error(source.kind) for text that is not valid JSON or UTF-8, and for a duplicate key, of which other readers
/// silently keep the last. Also throws if nesting, objects or numbers exceed the limits.
Json parse_json(std::string_view text, const JsonSource& source, const JsonRules& rules = {});

/// For text that may be broken, such as a truncated log. Returns a value with is_discarded() instead of throwing. The
/// last of duplicate keys wins. Comments are not allowed.
Json parse_json_leniently(std::string_view text);

/// parse_json for a file, which may be compressed (base/input.hpp); "-" is standard input.
Json load_json(const std::string& file, const JsonRules& rules = {});

/// A value of a JSON text with its place. Cheap to copy; the JSON must outlive it. Every reading function throws an
/// Error of the source's kind: "bert.json: /batch: 0 is out of range; allowed: …".
class JsonView {
 public:
  JsonView(const Json& value, JsonSource source)
      : value_(&value), source_(std::make_shared<const JsonSource>(std::move(source))) {}

  const Json& json() const { return *value_; }
  const std::string& pointer() const { return pointer_; }
  const JsonSource& source() const { return *source_; }
  /// "bert.json: /configs/0"; for the whole text, only its name.
  std::string where() const;
  /// The value as JSON on one line, shortened if long.
  std::string shown() const;

  /// "<where>: <message>".
  [[noreturn]] void fail(const std::string& message) const;
  /// "<where>: <value> is not <wanted>".
  [[noreturn]] void fail_unless_it_is(const std::string& wanted) const;
  /// "<where>: <value> is out of range; allowed: <range>".
  [[noreturn]] void fail_out_of_range(const std::string& range) const;
  /// "<where>: <value> is not a known value; allowed: "a", "b" (did you mean "b"?)".
  [[noreturn]] void fail_unless_one_of(const std::vector<std::string>& allowed) const;

  /// "<where>/<key>: unknown key "kay" (did you mean "key"?); allowed: …".
  [[noreturn]] void fail_unknown(const std::string& key, const std::vector<std::string>& allowed) const;

  /// Whether this is an object with the key, whatever its value.
  bool has(const std::string& key) const { return value_->is_object() && value_->contains(key); }
  /// Throws if this is not an object or lacks the key.
  JsonView at(const std::string& key) const;
  /// Precondition: this is an array with more than `index` elements.
  JsonView at(size_t index) const;
  std::optional<JsonView> find(const std::string& key) const;
  /// All values of an object or array, in order; throws for anything else.
  std::vector<JsonView> values() const;
  /// Another value at the same place, such as one element of an option's list.
  JsonView with(const Json& value) const;
  /// Throws unless this is an object with only these keys.
  void only_keys(const std::vector<std::string>& allowed) const;

  int64_t integer(int64_t low = std::numeric_limits<int64_t>::min(),
                  int64_t high = std::numeric_limits<int64_t>::max()) const;
  double number() const;
  bool boolean() const;
  std::string text() const;
  /// A string that must be one of `allowed`, compared as plain words.
  std::string word(const std::vector<std::string>& allowed) const;
  /// An array of strings.
  std::vector<std::string> texts() const;
  std::vector<int64_t> integers() const;
  /// The elements of an array; throws for anything else.
  std::vector<JsonView> elements() const;
  /// The keys and values of an object; throws for anything else.
  std::vector<std::pair<std::string, JsonView>> members() const;

  /// Members that may be absent or null. Throws for a value of another type, and if this is not an object. Views are
  /// created only for errors, because reports have millions of members.
  std::optional<JsonView> find_set(const std::string& key) const;
  std::vector<JsonView> elements_or_none(const std::string& key) const;
  bool boolean_or(const std::string& key, bool otherwise) const;
  std::string text_or(const std::string& key, const std::string& otherwise) const;
  std::optional<int64_t> optional_integer(const std::string& key, int64_t low = std::numeric_limits<int64_t>::min(),
                                          int64_t high = std::numeric_limits<int64_t>::max()) const;
  std::optional<double> optional_number(const std::string& key) const;

  /// An enumerator by name or another spelling (enum_words.hpp).
  template <class E>
  E one_of(const std::vector<std::string>& allowed = names_of<E>()) const {
    if (value_->is_string())
      if (const auto meant = parse_word<E>(value_->get<std::string>()))
        for (const auto& name : allowed)
          if (name == name_of(*meant)) return *meant;
    fail_unless_one_of(allowed);
  }

 private:
  JsonView below(const Json& value, const std::string& part) const;
  // The member that find_set reads, or nullptr.
  const Json* set_member(const std::string& key) const;

  const Json* value_;
  std::shared_ptr<const JsonSource> source_;
  std::string pointer_;
};

/// Reads the members of an object one by one; finish() refuses keys that were never read.
class JsonObject {
 public:
  /// Throws if the value is not an object.
  explicit JsonObject(JsonView place);

  const JsonView& place() const { return place_; }
  /// Throws if the key is missing.
  JsonView take(const std::string& key);
  std::optional<JsonView> find(const std::string& key);
  /// Null counts as absent.
  std::optional<JsonView> find_set(const std::string& key);
  /// The keys that were never read.
  std::vector<std::string> left() const;
  /// Throws for the first key in left(), with the nearest key that was read.
  void finish() const;

 private:
  JsonView place_;
  std::vector<std::string> asked_;
};

}  // namespace attnprobe
