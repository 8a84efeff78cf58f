// The table of operations: names, attributes and keys are unique, and exceptions are at the right places.
#include "graph/operation_table.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"

namespace attnprobe::test::operation_table_test {

using namespace attnprobe::graph;

namespace {

// Calls f(table, row) for each row of each operation.
template <class F>
void for_each(F&& f) {
  for_each_operation(
      [&](auto table) { for_each_row<typename decltype(table)::Op>([&](const auto& row) { f(table, row); }); });
}

}  // namespace

TEST_CASE("Every operation of an OpGraph has a table with unique names", "[graph][table]") {
  std::set<std::string> names, cudnn_names;
  std::set<int> descriptors;
  for_each_operation([&](auto table) {
    names.insert(table.name);
    cudnn_names.insert(table.cudnn_name);
    descriptors.insert(table.descriptor.number);
    CHECK(table.descriptor.name == "CUDNN_BACKEND_OPERATION_" + std::string(table.cudnn_name) + "_DESCRIPTOR");
    CHECK(table.has_math == (table.math_attribute.number >= 0));
    CHECK(Operation(typename decltype(table)::Op{}).index() < std::variant_size_v<Operation>);
  });
  CHECK(names.size() == std::variant_size_v<Operation>);
  CHECK(cudnn_names.size() == names.size());
  CHECK(descriptors.size() == names.size());
}

TEST_CASE("Rows of one operation differ in name, attribute, log key and JSON key", "[graph][table]") {
  std::set<std::string> seen;
  size_t attributes = 0;
  for_each([&](const auto& table, const auto& row) {
    INFO(table.name << "." << row.name);
    const std::string of = std::string(table.name) + "/";
    CHECK(seen.insert(of + "name " + row.name).second);
    if (!row.json.empty()) CHECK(seen.insert(of + "json " + std::string(row.json)).second);
    if (!row.log.empty() && row.log != by_code) CHECK(seen.insert(of + "log " + std::string(row.log)).second);
    if (row.attribute.number == no_cudnn_name.number) return;
    ++attributes;
    // A seed is a tensor or a constant, under the same attribute.
    const bool shared = std::string_view(row.name) == "constant_seed";
    if (!shared) CHECK(seen.insert(of + "attribute " + std::to_string(row.attribute.number)).second);
    CHECK(std::string_view(row.attribute.name).substr(0, 11) == "CUDNN_ATTR_");
    CHECK((row.since == 0 || (row.since >= 90000 && row.since < 100000)));
  });
  CHECK(attributes > 80);
}

TEST_CASE("The softmax inside an SDPA operation has the values for which there is no attribute", "[graph][table]") {
  std::set<std::string> inner;
  for_each([&](const auto& table, const auto& row) {
    if (row.attribute.number == no_cudnn_name.number) inner.insert(std::string(table.name) + "." + row.name);
  });
  CHECK(inner == std::set<std::string>{"sdpa_forward.max", "sdpa_forward.sink", "sdpa_forward.softmax_x",
                                       "sdpa_forward.softmax_y", "sdpa_forward.stats_log2", "sdpa_forward.sum_exp"});
}

TEST_CASE("Ports list inputs first, and attributes are separate", "[graph][table]") {
  SdpaForward op;
  std::vector<std::string> inputs, outputs, attributes;
  for_each_port(op, [&](const char* name, auto&, PortDirection direction) {
    if (direction == PortDirection::input) CHECK(outputs.empty());
    (direction == PortDirection::input ? inputs : outputs).emplace_back(name);
  });
  for_each_attribute(op, [&](const char* name, auto&) { attributes.emplace_back(name); });
  CHECK(inputs.size() == 22);
  CHECK(outputs.size() == 9);
  CHECK(attributes == std::vector<std::string>{"unfuse_fma", "stats_log2", "dropout_probability"});
  Reduction reduction;
  attributes.clear();
  for_each_attribute(reduction, [&](const char* name, auto&) { attributes.emplace_back(name); });
  CHECK(attributes == std::vector<std::string>{"operator", "compute"});
}

}  // namespace attnprobe::test::operation_table_test
