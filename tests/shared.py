"""The folder `shared` beside the repository: real inputs and the Bot API's rules, used in place.

Where the folder is absent, what needs it is skipped and says so. Where it is there, a file missing in it is a
failure: a test that skipped for want of its own file could check nothing for ever.
"""

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

SHARED = Path(os.environ.get("AUTO_IMPROVE_SHARED") or Path(__file__).parents[2] / "shared")
DATA = SHARED / "data"
_ABSENT = "the folder shared/ is absent beside the repository (AUTO_IMPROVE_SHARED names another place)"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=_ABSENT)


@cache
def load(path: str) -> ModuleType:
    """Import a module of the folder; skip where the folder is absent."""
    if not SHARED.is_dir():
        pytest.skip(_ABSENT)
    file = SHARED / path
    sys.path.insert(0, str(file.parent))  # it may import its neighbours
    try:
        spec = importlib.util.spec_from_file_location(f"shared_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


def validator() -> ModuleType:
    """Give the validator of calls to the Bot API."""
    return load("botapi/validate.py")
