#include "cudnn/library_file.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "base/version.hpp"

namespace attnprobe::cudnn {
namespace {

constexpr std::array<std::string_view, 3> version_symbols{"cudnn_graph_version", "cudnn_ops_infer_version",
                                                          "cudnn_adv_infer_version"};
// cuDNN's largest symbol table is a few megabytes; a damaged header may claim any size.
constexpr uint64_t most_table_bytes = uint64_t{256} << 20;

// The symbol tables of an ELF library.
class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path) : file_(path, std::ios::binary) {
    Elf64_Ehdr header{};
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
      return;
    header_ = header;
    sections_ = table<Elf64_Shdr>(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
    segments_ = table<Elf64_Phdr>(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  }

  bool is_for_this_machine() const {
#if defined(__aarch64__)
    return header_.e_machine == EM_AARCH64;
#else
    return header_.e_machine == EM_X86_64;
#endif
  }

  // The end of the last table or segment; 0 if the file is not an ELF library.
  uint64_t end() const {
    uint64_t end = header_.e_shoff + uint64_t{header_.e_shnum} * header_.e_shentsize;
    for (const Elf64_Phdr& segment : segments_) end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
    return end;
  }

  // The first version symbol that the file defines, as its four bytes.
  std::optional<int32_t> version() {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections_.size()) continue;
      const Elf64_Shdr& strings = sections_[section.sh_link];
      const auto names = table<char>(strings.sh_offset, strings.sh_size);
      for (const Elf64_Sym& symbol : table<Elf64_Sym>(section.sh_offset, section.sh_size)) {
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
        const std::string_view rest(names.data() + symbol.st_name, names.size() - symbol.st_name);
        const std::string_view name = rest.substr(0, rest.find('\0'));
        if (std::find(version_symbols.begin(), version_symbols.end(), name) == version_symbols.end()) continue;
        if (const auto value = value_at(symbol.st_value)) return value;
      }
    }
    return std::nullopt;
  }

 private:
  template <class T>
  bool read(uint64_t offset, T& value) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(&value), sizeof value));
  }

  template <class T>
  std::vector<T> table(uint64_t offset, uint64_t bytes) {
    if (bytes > most_table_bytes) return {};
    std::vector<T> entries(bytes / sizeof(T));
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    if (!file_.read(reinterpret_cast<char*>(entries.data()), static_cast<std::streamsize>(entries.size() * sizeof(T))))
      return {};
    return entries;
  }

  std::optional<int32_t> value_at(uint64_t address) {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address >= segment.p_vaddr + segment.p_filesz)
        continue;
      int32_t value = 0;
      if (read(segment.p_offset + (address - segment.p_vaddr), value)) return value;
    }
    return std::nullopt;
  }

  std::ifstream file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::string version_of_file(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return "";  // opening a FIFO would block
  const auto packed = ElfFile(path).version();
  // major<<16 | minor<<8 | patch
  return packed ? CudnnVersion(*packed >> 16, *packed >> 8 & 0xFF, *packed & 0xFF).text() : "";
}

bool is_cut_off(const std::filesystem::path& path) {
  std::error_code unreadable;
  const uint64_t size = std::filesystem::file_size(path, unreadable);
  return !unreadable && size < ElfFile(path).end();
}

std::optional<std::string> why_not_a_library(const std::filesystem::path& path) {
  const ElfFile file(path);
  if (file.end() == 0) return "is not a shared library";
  if (is_cut_off(path)) return "is truncated";
  if (!file.is_for_this_machine()) return "is for another processor";
  return std::nullopt;
}

std::filesystem::path parts_folder(const std::filesystem::path& cudnn) {
  std::filesystem::path folder = std::filesystem::absolute(cudnn).parent_path();
  std::error_code ignored;
  if (std::filesystem::exists(folder / "libcudnn_graph.so.9", ignored)) return folder;
  const std::filesystem::path real = std::filesystem::canonical(cudnn, ignored);
  return real.empty() ? folder : real.parent_path();
}

bool is_jit_only(const std::filesystem::path& folder) {
  std::error_code ignored;
  return !std::filesystem::exists(folder / "libcudnn_heuristic.so.9", ignored) &&
         !std::filesystem::exists(folder / "libcudnn_engines_precompiled.so.9", ignored);
}

}  // namespace attnprobe::cudnn
