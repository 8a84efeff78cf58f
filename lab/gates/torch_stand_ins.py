"""Installs PyTorch once for the gates of libraries that use it, without the packages that only a GPU needs."""
import importlib.abc
import importlib.machinery
import sys
import types

PYTORCH = "2.11.0"
# PyTorch's CUDA build loads these when it is imported; the machine has the rest of CUDA.
PACKAGES = (f"torch=={PYTORCH}", "filelock", "typing_extensions", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "numpy==2.2.6",
            "nvidia-cusparselt-cu13", "nvidia-nvshmem-cu13", "nvidia-cufile")


NUMBERS = {}


class StandInType(type):
    """A class that has every member, always the same object; it may be a base, a decorator, an enum or a function."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = StandInType(name, (StandIn,), {})
        setattr(cls, name, made)
        return made

    def __getitem__(cls, key):
        return getattr(cls, str(key).replace("__", "_"))

    def __int__(cls):
        """A distinct number for each class, so that enumerators differ."""
        return NUMBERS.setdefault(cls, len(NUMBERS))

    def __or__(cls, other):
        return cls

    __ror__ = __or__


class StandIn(metaclass=StandInType):
    def __init__(self, *_, **__):
        pass

    def __call__(self, *given, **_):
        """As a decorator, returns the function itself, for which further functions may be registered."""
        if not given or not isinstance(given[0], types.FunctionType):
            return StandIn
        given[0].register_fake = given[0].register_autograd = StandIn()
        return given[0]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(type(self), name)


class StandInModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = StandInType(name, (StandIn,), {})
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Replaces every module of these packages."""

    def __init__(self, packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandInModule(spec.name)

    def exec_module(self, module):
        pass


def stand_in_for(*packages):
    sys.meta_path.insert(0, Finder(packages))
