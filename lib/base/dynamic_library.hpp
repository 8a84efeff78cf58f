// Shared libraries that are loaded at run time, and their functions.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace attnprobe {

/// A handle of dlopen. The last copy closes it, unless keep() was called.
class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  /// Calls dlopen with RTLD_NOW and `flags` (RTLD_GLOBAL, RTLD_NOLOAD). Empty if the loader does not load the library;
  /// loader_words() then returns the reason.
  explicit DynamicLibrary(const std::filesystem::path& path, int flags = 0);

  explicit operator bool() const { return handle_ != nullptr; }

  /// Never closes the library. CUDA's and cuDNN's libraries need this. They do not survive dlclose, because they leave
  /// threads and exit handlers behind, and function pointers outlive this object.
  const DynamicLibrary& keep() const;

  /// The path that the loader used, symbolic links not resolved; "" if unknown.
  std::filesystem::path path() const;

  /// The function's address, or nullptr.
  void* find(const char* symbol) const;

  /// Stores the function's address in `function`; returns whether the library has it.
  template <class F>
  bool find(const char* symbol, F*& function) const {
    function = reinterpret_cast<F*>(find(symbol));
    return function != nullptr;
  }

  /// Throws Error(environment) with the library, the symbol and then `hint`.
  template <class F>
  void bind(const char* symbol, F*& function, const std::string& hint = "") const {
    if (!find(symbol, function)) lacks(symbol, hint);
  }

 private:
  [[noreturn]] void lacks(const char* symbol, const std::string& hint) const;

  std::shared_ptr<void> handle_;
};

/// The loader's error for this thread's last empty DynamicLibrary.
std::string loader_words();

}  // namespace attnprobe
