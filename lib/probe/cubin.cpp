#include "probe/cubin.hpp"

#include <elf.h>

#include <cstring>
#include <optional>
#include <vector>

#include "base/digest.hpp"

namespace attnprobe::probe {
namespace {

// Reads within the bounds of the file; data outside counts as absent.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string_view part(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) return {};
    return bytes_.substr(offset, size);
  }
  // The text up to its terminating zero.
  std::string_view text(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest = bytes_.substr(offset);
    return rest.substr(0, rest.find('\0'));
  }

 private:
  std::string_view bytes_;
};

struct Section {
  std::string_view name;
  Elf64_Shdr header{};
};

std::vector<Section> sections_of(const Bytes& file) {
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  std::vector<Section> sections;
  sections.reserve(header->e_shnum);
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = file.at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return {};
    sections.push_back({{}, *section});
  }
  if (header->e_shstrndx >= sections.size()) return {};
  const uint64_t names = sections[header->e_shstrndx].header.sh_offset;
  for (auto& section : sections) section.name = file.text(names + section.header.sh_name);
  return sections;
}

const Section* section_called(const std::vector<Section>& sections, std::string_view name) {
  for (const auto& section : sections)
    if (section.name == name) return &section;
  return nullptr;
}

// An entry of .nv.info has a format, an attribute and 16 bits. The 16 bits are a value or, for sized values, the number
// of following bytes.
constexpr uint8_t sized_value = 4;
enum : uint8_t { max_threads = 0x05, required_threads = 0x10, frame_size = 0x11, register_count = 0x2f };

template <class F>
void for_each_entry(std::string_view info, F&& visit) {
  const Bytes bytes(info);
  for (uint64_t at = 0; at + 4 <= info.size();) {
    const auto format = *bytes.at<uint8_t>(at), attribute = *bytes.at<uint8_t>(at + 1);
    const auto size = *bytes.at<uint16_t>(at + 2);
    at += 4;
    if (format != sized_value) continue;
    visit(attribute, Bytes(bytes.part(at, size)));
    at += size;
  }
}

// Constants from the compiler, and initial values of variables. Constant bank 0 contains a launch's parameters.
bool is_data(std::string_view section) {
  return (section.starts_with(".nv.constant") && !section.starts_with(".nv.constant0")) || section == ".nv.global.init";
}

}  // namespace

std::map<std::string, PlanKernel> kernels_of_cubin(std::string_view cubin) {
  constexpr std::string_view code = ".text.", shared = ".nv.shared.", info = ".nv.info";
  const Bytes file(cubin);
  const std::vector<Section> sections = sections_of(file);
  const auto content = [&](const Section& section) {
    return file.part(section.header.sh_offset, section.header.sh_size);
  };
  std::string data;
  for (const auto& section : sections)
    if (is_data(section.name)) data += content(section);
  std::map<std::string, PlanKernel> kernels;
  for (const auto& section : sections)
    if (section.name.starts_with(code)) {
      const std::string name(section.name.substr(code.size()));
      PlanKernel& kernel = kernels[name];
      kernel.name = name;
      kernel.shared_memory_bytes = 0;
      kernel.code_bytes = static_cast<int64_t>(content(section).size());
      kernel.identity = digest(std::string(content(section)) + data).substr(0, 16);
      if (const auto* memory = section_called(sections, std::string(shared) + name))
        kernel.shared_memory_bytes = static_cast<int64_t>(memory->header.sh_size);
      const auto* own = section_called(sections, std::string(info) + "." + name);
      if (own == nullptr) continue;
      for_each_entry(content(*own), [&](uint8_t attribute, const Bytes& value) {
        if (attribute != max_threads && attribute != required_threads) return;
        int64_t threads = 1;
        for (uint64_t i = 0; i < 3; ++i) threads *= value.at<uint32_t>(4 * i).value_or(1);
        kernel.max_threads = threads;
      });
    }
  // .nv.info names functions by their index in the symbol table.
  const auto* symbols = section_called(sections, ".symtab");
  const auto* all = section_called(sections, info);
  if (symbols == nullptr || all == nullptr || symbols->header.sh_link >= sections.size()) return kernels;
  const uint64_t names = sections[symbols->header.sh_link].header.sh_offset;
  for_each_entry(content(*all), [&](uint8_t attribute, const Bytes& value) {
    const auto symbol_index = value.at<uint32_t>(0), number = value.at<uint32_t>(4);
    if (!symbol_index || !number) return;
    const auto symbol = file.at<Elf64_Sym>(symbols->header.sh_offset + *symbol_index * sizeof(Elf64_Sym));
    if (!symbol) return;
    const auto kernel = kernels.find(std::string(file.text(names + symbol->st_name)));
    if (kernel == kernels.end()) return;
    if (attribute == register_count) kernel->second.registers = *number;
    if (attribute == frame_size) kernel->second.stack_bytes = *number;
  });
  return kernels;
}

}  // namespace attnprobe::probe
