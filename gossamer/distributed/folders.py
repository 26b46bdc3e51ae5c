"""Whose checkpoints are where: two trainings in one folder would overwrite each other's."""

import gc
from pathlib import Path
from weakref import WeakKeyDictionary

from gossamer.distributed.optimizer import DecentralizedOptimizer
from gossamer.distributed.ownership import Lock, lock_of
from gossamer.errors import require

Users = WeakKeyDictionary[DecentralizedOptimizer, int | None]
"""Optimizers → the step at which they began with what is in a folder; None once they have saved."""

_users: dict[Path, Users] = {}
"""By folder, those of this process."""


_locks: WeakKeyDictionary[DecentralizedOptimizer, dict[Path, Lock]] = WeakKeyDictionary()
"""What keeps other processes away while an optimizer lives, by folder."""


def own_folder(optimizer: DecentralizedOptimizer, folder: Path) -> str:
    """Keep other processes from the folder; returns which one has it, if one has."""
    first = optimizer.rank == optimizer.crew.position == 0
    lock = lock_of(folder) if first else None
    if lock is None:
        return ""
    _locks.setdefault(optimizer, {})[folder.resolve()] = lock
    return lock.take(optimizer.run)


def begins(optimizer: DecentralizedOptimizer, folder: Path) -> None:
    """Note that the optimizer goes on from what is in the folder."""
    _of(folder)[optimizer] = optimizer.steps


def has_begun(optimizer: DecentralizedOptimizer, folder: Path) -> bool:
    """Whether the optimizer has resumed from the folder, or has saved to it."""
    return optimizer in _of(folder)


def has_saved(optimizer: DecentralizedOptimizer, folder: Path) -> None:
    """Note that the optimizer has saved to the folder."""
    _of(folder)[optimizer] = None


def require_alone(optimizer: DecentralizedOptimizer, folder: Path) -> None:
    """Refuse to begin beside another optimizer that has begun with the same files."""

    def others() -> list[DecentralizedOptimizer]:
        began = _of(folder).items()
        return [other for other, t in began if other is not optimizer and other.steps == t]

    if others():
        gc.collect()  # those that nobody refers to any more live until then
    _require(not others(), folder)


def require_own_files(optimizer: DecentralizedOptimizer, folder: Path) -> None:
    """Refuse to save over the files of another optimizer, unless this one has begun with them."""
    users = _of(folder)
    if users and optimizer not in users:
        gc.collect()
    _require(not users or optimizer in users, folder)


def _of(folder: Path) -> Users:
    return _users.setdefault(folder.resolve(), WeakKeyDictionary())


def _require(free: bool, folder: Path) -> None:
    found = f"{folder}, where another optimizer of this program has its checkpoints"
    way_out = f"e.g. {folder / 'a'} and {folder / 'b'}"
    require(free, "folder", found, "a folder for each", way_out)
