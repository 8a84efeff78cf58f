// Reads Transformer Engine's calls from a document: JSON, or a log with dumps.
#include "frameworks/transformer_engine/calls.hpp"

#include <fmt/format.h>

#include <set>

#include "base/error.hpp"
#include "base/input.hpp"
#include "base/json_reader.hpp"
#include "frameworks/transformer_engine/calls_reading.hpp"

namespace attnprobe::frameworks {
namespace {

using Query = TransformerEngineQuery;

// Parses JSON; errors add that a log is also accepted.
Json parse_calls(std::string_view text, const std::string& file) try {
  return parse_json(text, {file});
} catch (const Error& e) {
  throw Error(ErrorKind::usage,
              fmt::format("{} (nor is it a log with \"{}{{…}}\", which Transformer Engine's PyTorch prints)", e.what(),
                          transformer_engine_dump));
}

Query read_object(const Json& object, const std::string& file, const std::string& pointer, const std::string& name) {
  Query query;
  query.name = name;
  query.origin = {file, pointer};
  if (!object.is_object()) fail_transformer_engine(query.origin, "", "is not an object");
  query.given = object;
  return read_transformer_engine_fields(object, std::move(query));
}

}  // namespace

std::vector<TransformerEngineQuery> parse_transformer_engine(std::string_view text, const std::string& file_name) {
  if (text.find(transformer_engine_dump) != std::string_view::npos)
    return read_transformer_engine_dumps(text, file_name);
  const Json document = parse_calls(text, file_name);
  std::vector<Query> queries;
  if (!document.is_array()) return {read_object(document, file_name, "", "te")};
  std::set<std::string> names;
  for (size_t i = 0; i < document.size(); ++i) {
    queries.push_back(read_object(document[i], file_name, fmt::format("/{}", i), fmt::format("te[{}]", i)));
    const Query& query = queries.back();
    if (!names.insert(query.name).second)
      fail_transformer_engine(query.origin, "name", fmt::format("\"{}\" is the name of another call", query.name));
  }
  if (queries.empty()) throw Error(ErrorKind::usage, fmt::format("{}: an empty array of calls", file_name));
  return queries;
}

std::vector<TransformerEngineQuery> load_transformer_engine(const std::string& path) {
  return parse_transformer_engine(input_text(path), input_name(path));
}

}  // namespace attnprobe::frameworks
