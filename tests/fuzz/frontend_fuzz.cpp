// cudnn-frontend's JSON and its serialized form: imported, and built if it is attention. Bad input must give an Error
// that names the problem.
#include "bounded.hpp"
#include "build/build.hpp"
#include "importers/cudnn_frontend/import_frontend.hpp"
#include "importers/import.hpp"
#include "recognise/recognise.hpp"

using namespace attnprobe;

namespace {

void import(const Json& json) {
  if (!importers::is_frontend_json(json)) return;
  const importers::FrontendGraph found = importers::import_frontend_json(json);
  if (found.spec) graph::hash(build::build_graph(*found.spec, {found.cudnn_version, 90}).graph);
  if (found.graph) recognise::recognise_graph(*found.graph, {found.cudnn_version, 90});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  fuzz::bounded([&] {
    if (importers::is_frontend_serialization(bytes)) {
      import(importers::read_frontend_serialization(bytes));
      return;
    }
    const Json json = Json::parse(bytes, nullptr, false);
    if (json.is_object() && json.contains("operationGraph"))
      recognise::recognise_graph(importers::import_backend_json(json["operationGraph"]).graph, {91900, 90});
    else
      import(json);
  });
  return 0;
}
