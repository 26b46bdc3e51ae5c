"""A user's own Python file as a module, the same one in every process that loads it."""

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from gossamer.errors import InvalidInput, require

LOADED: dict[Path, ModuleType] = {}
"""File → its module, as loaded in this process; a cluster needs them, too."""


def load_user_file(path: str | Path) -> ModuleType:
    """Run a Python file and return its module, under the file's own name.

    The file's folder is put on Python's path, so that the file finds its neighbours, and so that
    what it defines can be pickled by name: a process that has loaded the file, or has the same
    path, finds it again. A file that is loaded already is not run a second time.
    """
    file = Path(path).resolve()
    require(file.suffix == ".py", "import", path, "a Python file", "its name ends in .py")
    require(file.is_file(), "import", path, "a file that exists")
    loaded = sys.modules.get(file.stem)
    if loaded is None or _home(loaded) != file:
        _require_free(file)
        loaded = _run(file)
    LOADED[file] = loaded
    return loaded


def _run(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as reason:
        del sys.modules[file.stem]
        sys.path.remove(str(file.parent))
        raise InvalidInput(f"import: {file.name} {_where(reason, file)}") from reason
    return module


def _require_free(file: Path) -> None:
    """Refuse a file whose name Python knows as that of another module."""
    name = file.stem
    require("." not in name, "import", file.name, "a file name with one dot", "rename the file")
    spec = importlib.util.find_spec(name) if name not in sys.modules else None
    other = _home(sys.modules[name]) if name in sys.modules else spec and spec.origin
    taken = f"{file.name}, whose name is that of the module {name} ({other or 'built in'})"
    known = name in sys.modules or (spec is not None and Path(str(other)) != file)
    require(not known, "import", taken, "a name of its own", "rename the file")


def _home(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()


def _where(reason: Exception, file: Path) -> str:
    """What went wrong in which line of the file."""
    if isinstance(reason, SyntaxError) and reason.filename == str(file):
        return f"cannot be read: line {reason.lineno}: {reason.msg}: {(reason.text or '').strip()}"
    frames = traceback.extract_tb(reason.__traceback__)
    line = next((f"line {f.lineno}: " for f in reversed(frames) if f.filename == str(file)), "")
    return f"fails: {line}{type(reason).__name__}: {reason}"
