// The one strict reader of JSON: text that is refused where it is ambiguous, and views of its values that know their
// place, so that every complaint names the text, the JSON pointer, the value and what is allowed.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "enum_names.hpp"
#include "enum_words.hpp"
#include "error.hpp"
#include "json.hpp"

namespace attnprobe {

/// Whose text is read, as messages begin.
struct JsonSource {
  std::string name;                   ///< "bert.json", "--mask", "operation graph"
  std::string joint = ": ";           ///< between the name and a JSON pointer: "bert.json: /configs/0"
  bool is_file = true;                ///< a syntax error names the line; otherwise it quotes the text
  ErrorKind kind = ErrorKind::usage;  ///< of every error: internal for data that is built in
};

struct JsonRules {
  bool comments = true;  ///< "//" and "/* */" are skipped
  size_t deepest = 256;  ///< objects and arrays in each other; the walks over JSON are recursive, and so is freeing it
};

/// Throws Error(source.kind) for text that is not JSON, for bytes that are not UTF-8, for a key that an object has
/// twice (other readers keep the last one in silence), for nesting and objects beyond the limits and for numbers that
/// no double holds.
Json parse_json(std::string_view text, const JsonSource& source, const JsonRules& rules = {});

/// For text that is expected to be broken at times, as in a log that was cut off: a value that is_discarded() where
/// parse_json throws, and of a key that an object has twice the last. Comments are not allowed.
Json parse_json_leniently(std::string_view text);

/// The same as parse_json from a file, which may be compressed (base/input.hpp); "-" is standard input.
Json load_json(const std::string& file, const JsonRules& rules = {});

/// A value of a JSON text and its place there. Cheap to copy; the JSON must outlive it. Every function that reads
/// throws Error of the source's kind, "bert.json: /batch: 0 is out of range; allowed: …".
class JsonView {
 public:
  JsonView(const Json& value, JsonSource source)
      : value_(&value), source_(std::make_shared<const JsonSource>(std::move(source))) {}

  const Json& json() const { return *value_; }
  const std::string& pointer() const { return pointer_; }
  const JsonSource& source() const { return *source_; }
  /// "bert.json: /configs/0"; just the name for the whole text.
  std::string where() const;
  /// The value as JSON on one line, cut where it is long.
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
  /// Throws where this is not an object or has no such key.
  JsonView at(const std::string& key) const;
  /// Precondition: this is an array longer than that.
  JsonView at(size_t index) const;
  std::optional<JsonView> find(const std::string& key) const;
  /// Every value of an object or array, in order; throws for anything else.
  std::vector<JsonView> values() const;
  /// Another value that belongs to this place: an element that an option lists.
  JsonView with(const Json& value) const;
  /// Throws for anything but an object of these keys.
  void only_keys(const std::vector<std::string>& allowed) const;

  int64_t integer(int64_t low = std::numeric_limits<int64_t>::min(),
                  int64_t high = std::numeric_limits<int64_t>::max()) const;
  double number() const;
  bool boolean() const;
  std::string text() const;
  /// A text that is one of these.
  std::string word(const std::vector<std::string>& allowed) const;
  /// Texts: an array of them.
  std::vector<std::string> texts() const;
  std::vector<int64_t> integers() const;
  /// What an array holds; throws for anything but an array.
  std::vector<JsonView> elements() const;
  /// The keys and values of an object; throws for anything but an object.
  std::vector<std::pair<std::string, JsonView>> members() const;

  /// Members of which null is as good as absent; a value of another type throws, and so does anything but an object.
  /// Only what is wrong gets a view of its own: reports have millions of members.
  std::optional<JsonView> find_set(const std::string& key) const;
  std::vector<JsonView> elements_or_none(const std::string& key) const;
  bool boolean_or(const std::string& key, bool otherwise) const;
  std::string text_or(const std::string& key, const std::string& otherwise) const;
  std::optional<int64_t> optional_integer(const std::string& key, int64_t low = std::numeric_limits<int64_t>::min(),
                                          int64_t high = std::numeric_limits<int64_t>::max()) const;
  std::optional<double> optional_number(const std::string& key) const;

  /// By name, or another word for it (enum_words.hpp).
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
  // Of find_set; nullptr where there is none.
  const Json* set_member(const std::string& key) const;

  const Json* value_;
  std::shared_ptr<const JsonSource> source_;
  std::string pointer_;
};

/// An object whose members are taken one by one; finish() refuses what nobody has asked for.
class JsonObject {
 public:
  /// Throws where the place does not hold an object.
  explicit JsonObject(JsonView place);

  const JsonView& place() const { return place_; }
  /// Throws where the key is missing.
  JsonView take(const std::string& key);
  std::optional<JsonView> find(const std::string& key);
  /// Null is as good as absent.
  std::optional<JsonView> find_set(const std::string& key);
  /// The keys that were neither taken nor looked for.
  std::vector<std::string> left() const;
  /// Throws for the first of left(), with the nearest of the keys that were asked for.
  void finish() const;

 private:
  JsonView place_;
  std::vector<std::string> asked_;
};

}  // namespace attnprobe
