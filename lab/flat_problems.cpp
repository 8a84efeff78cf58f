// Reads {"config": …, "cudnn": "9.14.0", "sm": 90} per line and prints the flat problem of each, for lab/census-recount.
#include <exception>
#include <iostream>
#include <string>

#include "attention/config.hpp"
#include "base/json.hpp"
#include "base/version.hpp"
#include "rules/flat_problem.hpp"

int main() {
  using namespace attnprobe;
  for (std::string line; std::getline(std::cin, line);) {
    Json flat = Json::object();
    try {
      const Json asked = Json::parse(line);
      const auto spec = attention::parse_configs(asked.at("config").dump(), "config").at(0).spec;
      const auto cudnn = CudnnVersion::parse(asked.at("cudnn").get<std::string>());
      flat = rules::describe_problem(spec, cudnn.value(), asked.value("sm", 90));
    } catch (const std::exception& e) {
      flat["error"] = e.what();
    }
    std::cout << flat.dump() << "\n";
  }
}
