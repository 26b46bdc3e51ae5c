"""A training as its log tells it."""

from pathlib import Path

from gossamer.train.log import LOG, TrainingLog
from gossamer.watch.section import Chart, Curve, Section

LINES = {"validation_loss": "average model on held-out data", "loss": "first node's batch"}
"""What is drawn as loss → its words."""


def find(folder: Path) -> list[Path]:
    """The files of the training in this very folder, if there is one."""
    return [path for path in [folder / LOG] if path.is_file()]


def read(folder: Path) -> list[Section]:
    """What the log of a training in this folder says."""
    log = TrainingLog.read(folder / LOG)
    method, steps = str(log.run.get("algorithm", "training")), log.run.get("steps")
    loss = [_curve(log, name, f"{method} ({words})") for name, words in LINES.items()]
    apart = _curve(log, "consensus_error", method)
    reached = log.records[-1]["step"] if log.records else 0
    title = f"{folder.name}: {method} on {log.run.get('network', 'an unknown network')}"
    done = reached / steps if isinstance(steps, int) and steps > 0 else None
    charts = [Chart("loss", loss), Chart("consensus_error", [apart])]
    return [Section(title, _told(log), done, charts)]


def _told(log: TrainingLog) -> str:
    what = f"{log.run.get('model', 'model')} on {log.run.get('data', 'data')}"
    how = str(log.run.get("hyperparameters", ""))
    if not log.records:
        return f"{what}, {how}; nothing is reported yet"
    last = log.records[-1]
    loss = last.get("validation_loss")
    judged = f", validation loss {loss:.4g}" if isinstance(loss, float) else ""
    return f"{what}, {how}; step {last['step']:,} of {log.run.get('steps', '?')}{judged}"


def _curve(log: TrainingLog, name: str, label: str) -> Curve:
    values = {one["step"]: one.get(name) for one in log.records}
    return Curve(label, {x: float(y) for x, y in values.items() if isinstance(y, int | float)})
