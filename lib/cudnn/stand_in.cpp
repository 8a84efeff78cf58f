#include "cudnn/stand_in.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/file_descriptor.hpp"

namespace attnprobe::cudnn {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half this_machine = EM_AARCH64;
#endif

// One writable segment: the loader changes the dynamic section in place.
struct Image {
  Elf64_Ehdr header{};
  std::array<Elf64_Phdr, 2> segments{};
  std::array<Elf64_Dyn, 7> dynamic{};
  Elf64_Sym symbol{};  // the first one, always empty
  std::array<char, 256> strings{};
};

// Offsets are also addresses.
Image image_of(const std::string& name, const std::string& provider) {
  Image image;
  std::copy(name.begin(), name.end(), image.strings.begin() + 1);
  const size_t provider_at = name.size() + 2;
  std::copy(provider.begin(), provider.end(), image.strings.begin() + static_cast<std::ptrdiff_t>(provider_at));
  std::copy_n(ELFMAG, SELFMAG, image.header.e_ident);
  image.header.e_ident[EI_CLASS] = ELFCLASS64;
  image.header.e_ident[EI_DATA] = ELFDATA2LSB;
  image.header.e_ident[EI_VERSION] = EV_CURRENT;
  image.header.e_type = ET_DYN;
  image.header.e_machine = this_machine;
  image.header.e_version = EV_CURRENT;
  image.header.e_phoff = offsetof(Image, segments);
  image.header.e_ehsize = sizeof(Elf64_Ehdr);
  image.header.e_phentsize = sizeof(Elf64_Phdr);
  image.header.e_phnum = image.segments.size();
  constexpr Elf64_Xword page = 0x10000;  // the largest page of aarch64
  image.segments[0] = {PT_LOAD, PF_R | PF_W, 0, 0, 0, sizeof(Image), sizeof(Image), page};
  constexpr size_t at = offsetof(Image, dynamic);
  image.segments[1] = {PT_DYNAMIC, PF_R | PF_W, at, at, at, sizeof image.dynamic, sizeof image.dynamic, 8};
  const auto entry = [](Elf64_Sxword tag, Elf64_Xword value) { return Elf64_Dyn{tag, {value}}; };
  image.dynamic = {entry(DT_SONAME, 1),
                   entry(DT_NEEDED, provider_at),
                   entry(DT_STRTAB, offsetof(Image, strings)),
                   entry(DT_STRSZ, sizeof image.strings),
                   entry(DT_SYMTAB, offsetof(Image, symbol)),
                   entry(DT_SYMENT, sizeof(Elf64_Sym)),
                   entry(DT_NULL, 0)};
  return image;
}

}  // namespace

DynamicLibrary load_stand_in(const std::string& name, const std::string& provider) {
  const Image image = image_of(name, provider);
  const FileDescriptor file(memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!file || write(file.get(), &image, sizeof image) != static_cast<ssize_t>(sizeof image)) return {};
  DynamicLibrary library(fmt::format("/proc/self/fd/{}", file.get()), RTLD_GLOBAL);
  if (library) library.keep();
  return library;
}

}  // namespace attnprobe::cudnn
