// The cells of a matrix, as read by --resume, `merge` and `diff`.
#include "bounded.hpp"
#include "report/model/cell_log.hpp"
#include "report/model/cells.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Scratch scratch;
  const auto file = scratch.file("cells.jsonl", fuzz::text_of(data, size));
  fuzz::bounded([&] {
    const report::CellLog log(file);
    const report::CellHeader header = log.header();
    report::CellLog(file, header, report::CellLog::Present::resume);
  });
  fuzz::bounded([&] { report::cells_summary(report::load_cells(file)); });
  fuzz::bounded([&] { report::merge_cells({file}, scratch.folder() / "merged.jsonl", "", true); });
  return 0;
}
