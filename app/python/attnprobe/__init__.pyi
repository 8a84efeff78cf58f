from . import jax as jax, torch as torch
from ._api import bugs as bugs, explain as explain, libraries as libraries, limits as limits, matrix as matrix
from ._api import probe as probe, schema as schema, suggest as suggest, targets as targets, version as version
from ._behaviour import Usable as Usable
from ._errors import Cancelled as Cancelled, EnvironmentProblem as EnvironmentProblem, Error as Error, UsageError as UsageError
from ._explanation import Explanation as Explanation
from ._limits import Limits as Limits
from ._records import Result as Result
from ._report import Report as Report
from ._suggest import Suggestions as Suggestions
from ._watch import watch as watch
from ._why import Why as Why

__version__: str
