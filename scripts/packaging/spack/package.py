# Spack's recipe: packages/attnprobe/package.py of a repository of packages (spack repo create, spack repo add).
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Attnprobe(CMakePackage):
    """Asks cuDNN which fused-attention graphs it supports on which GPU, and why not. cuDNN is loaded at run time; no GPU is needed."""

    homepage = "https://github.com/OWNER/attnprobe"
    git = "https://github.com/OWNER/attnprobe.git"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    # tree-sitter 0.24.0 and tree-sitter-python 0.23.6, as in scripts/setup.
    resource(
        name="tree-sitter",
        git="https://github.com/tree-sitter/tree-sitter.git",
        commit="dfc891a5ce7d340c67252178729890bd6c18bbbc",
        placement="tree-sitter",
    )
    resource(
        name="tree-sitter-python",
        git="https://github.com/tree-sitter/tree-sitter-python.git",
        commit="bffb65a8cfe4e46290331dfef0dbf0ef3679de11",
        placement="tree-sitter-python",
    )

    variant("tcmalloc", default=True, description="Allocate with gperftools: cuDNN spends a fifth of an answer in malloc")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cereal")
    depends_on("cli11")
    depends_on("fmt")
    depends_on("libzip")
    depends_on("nlohmann-json@3.9:")
    depends_on("re2")
    depends_on("spdlog")
    depends_on("sqlite")
    depends_on("xxhash")
    depends_on("xz")
    depends_on("zlib-api")
    depends_on("gperftools", when="+tcmalloc")

    # attnprobe is compiled with their headers, and asks the installed library.
    depends_on("cudnn@9.14:9", type=("build", "run"))
    depends_on("cuda", type=("build", "run"))

    conflicts("%gcc@:11", msg="attnprobe is C++20: GCC 12 or later")
    conflicts("platform=darwin", msg="cuDNN is not there")
    conflicts("platform=windows", msg="attnprobe is for Linux")

    def cmake_args(self):
        args = [
            self.define("ATTNPROBE_BUILD_TESTS", False),
            self.define("TREE_SITTER_CORE_DIR", join_path(self.stage.source_path, "tree-sitter", "lib")),
            self.define("TREE_SITTER_PYTHON_DIR", join_path(self.stage.source_path, "tree-sitter-python")),
            self.define("CUDNN_ROOT", self.spec["cudnn"].prefix),
            self.define("CUDA_RUNTIME_INCLUDE_DIR", self.spec["cuda"].prefix.include),
        ]
        # CMake would find it on the machine, so it must be disabled explicitly.
        if self.spec.satisfies("~tcmalloc"):
            args.append(self.define("ATTNPROBE_TCMALLOC", "ATTNPROBE_TCMALLOC-NOTFOUND"))
        return args

    def setup_run_environment(self, env):
        env.set("ATTNPROBE_CUDNN", self.spec["cudnn"].prefix)
