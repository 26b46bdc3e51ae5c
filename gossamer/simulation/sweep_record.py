"""The record of a sweep: many settings of one method, and the best of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gossamer.algorithms.described_schedules import from_description
from gossamer.errors import InvalidInput, require
from gossamer.simulation.curves import curves
from gossamer.simulation.halving import median
from gossamer.simulation.run import Record, Run
from gossamer.simulation.status import Status, count
from gossamer.simulation.sweep_picture import draw_sweep
from gossamer.simulation.table import Table
from gossamer.simulation.words import lines, recorded_metric, show_hyperparameters
from gossamer.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OF_A_SWEEP = ("settings", "strategy", "judge_by")
"""What the configuration of a sweep has beyond that of a run."""


class AllDiverged(InvalidInput):
    """No setting of a search can be chosen."""


@dataclass(frozen=True, repr=False, eq=False)
class Sweep(Record):
    """The result of `sweep`: every setting of a grid, run for every seed.

    The fields are those of `Run`, with one more axis for the settings: metrics are
    `(records, settings, seeds)`, `diverged_at` and `steps_taken` are `(settings, seeds)`, and `x`
    is `(nodes, settings, seeds, dim)`.
    """

    def __post_init__(self) -> None:
        is_sweep = "settings" in self.config
        require(is_sweep, "sweep", "one run", "a sweep", "read it with Run.load")

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The hyper-parameters of each setting."""
        return [
            {name: from_description(value) for name, value in setting.items()}
            for setting in self.config["settings"]
        ]

    @property
    def status(self) -> list[list[Status]]:
        """How the runs ended, as one list per setting with one status per seed."""
        flat, seeds = self._flat_status, self.diverged_at.shape[1]
        return [flat[start : start + seeds] for start in range(0, len(flat), seeds)]

    def scores(self, metric: str | None = None) -> Tensor:
        """One number per setting: the median over the seeds of the metric's final level.

        By default the metric is the one that the sweep was judged by. Its final level is the mean
        over the last tenth of the records, so that a single wild step does not decide. It is ∞ for
        a run that did not finish. The median of an even number of seeds is the mean of the middle
        two, so a setting that diverges on half of its seeds has the score ∞.
        """
        tail = max(1, len(self.steps) // 10)
        name = recorded_metric(metric or self.config["judge_by"], self.metrics)
        middle = median(self.metrics[name][-tail:].mean(0))
        return middle.where(middle.isfinite(), torch.inf)

    def best(self, metric: str | None = None) -> Run:
        """The runs of the setting with the lowest score; refused if every setting diverged."""
        return self.runs(self.best_setting(metric))

    def best_setting(self, metric: str | None = None) -> int:
        """The index, in `settings`, of the setting with the lowest score."""
        scores, number = self.scores(metric), len(self.settings)
        found = f"{number} settings that all diverged" if number > 1 else "a setting that diverged"
        if not bool(scores.isfinite().any()):
            self._require_finite_start(metric or self.config["judge_by"])
            raise AllDiverged(f"grid: got {found}, need one that does not; try a lower lr")
        return int(scores.argmin())

    def _require_finite_start(self, metric: str) -> None:
        """Refuse a metric that is no number before any step, which no setting can change."""
        first = self.metrics[metric][0].flatten()
        found, way_out = f"{first[0]} before the first step", "check the data and the loss"
        require(bool(first.isfinite().any()), metric, found, "a finite number", way_out)

    def runs(self, setting: int) -> Run:
        """The runs of the setting with this index, as `simulate` would have returned them."""
        setting = range(len(self.settings))[setting]
        shared = {k: v for k, v in self.config.items() if k not in OF_A_SWEEP}
        algorithm = shared["algorithm"] | {"hyperparameters": self.config["settings"][setting]}
        return Run(
            steps=self.steps,
            metrics={name: values[:, setting] for name, values in self.metrics.items()},
            diverged_at=self.diverged_at[setting],
            steps_taken=self.steps_taken[setting],
            x=self.x[:, setting],
            config=shared | {"algorithm": algorithm},
        )

    def curves(self) -> Table:
        """One row per recorded number: method, hyper-parameters, seed, step, metric, value."""
        return curves([self.runs(setting) for setting in range(len(self.settings))])

    def joined(self, other: "Sweep") -> "Sweep":
        """One sweep with the settings of this sweep and of another one.

        The two sweeps must agree in everything else.
        """
        ours, theirs = (
            {k: v for k, v in one.config.items() if k not in ("settings", "in_c")}
            for one in (self, other)
        )
        in_c = self.config.get("in_c", False) or other.config.get("in_c", False)
        require(ours == theirs, "other", "a sweep of something else", "the same but its settings")
        return Sweep(
            steps=self.steps,
            metrics={k: torch.cat([v, other.metrics[k]], 1) for k, v in self.metrics.items()},
            diverged_at=torch.cat([self.diverged_at, other.diverged_at]),
            steps_taken=torch.cat([self.steps_taken, other.steps_taken]),
            x=torch.cat([self.x, other.x], 1),
            config={**self.config, "settings": self.settings + other.settings, "in_c": in_c},
        )

    def plot(
        self,
        metric: str | None = None,
        *,
        over: str | Sequence[str] | None = None,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw how good every setting is.

        Args:
            metric: by default the one that the sweep was judged by.
            over: one hyper-parameter, for a curve; two, for a heat map; or "steps", for a line per
                setting. By default the first two hyper-parameters that vary, or the only one. If
                several settings share the values of these hyper-parameters, the best is shown.
            ax: the matplotlib axes to draw on; a new figure if None.
        """
        return draw_sweep(self, over, metric, ax)

    @property
    def title(self) -> str:
        """The method, and the numbers of settings and seeds."""
        settings, seeds = self.diverged_at.shape
        size = f"{counted(settings, 'setting')} × {counted(seeds, 'seed')}"
        return f"Sweep of {self.config['algorithm']['label']}: {size}"

    def facts(self) -> dict[str, str]:
        """What was run, how the runs ended, and the best setting, in words."""
        runs, how = count(self._flat_status), self.config["strategy"]
        return self._task | {"runs": f"{runs}, {how} search", "best": self._best_in_words()}

    def __repr__(self) -> str:
        return lines(self.title, self.facts())

    def _repr_html_(self) -> str:
        """In notebooks: the facts beside the picture."""
        from gossamer.display import beside, facts, picture

        drawn = picture(lambda ax: self.plot(ax=ax), self.title)
        return beside(facts(self.title, self.facts()), drawn)

    def _best_in_words(self) -> str:
        scores, name = self.scores(), self.config["judge_by"]
        if not scores.isfinite().any():
            return "none, all settings diverged"
        chosen = self.settings[int(scores.argmin())]
        return f"{show_hyperparameters(chosen)}: {name} {float(scores.min()):.3g}"
