"""Problems: n private objectives f_i with gradients, and what is known of their average."""

from collections.abc import Callable

from gossamer.problems.language import LanguageProblem
from gossamer.problems.module_problem import ModuleProblem
from gossamer.problems.problem import Problem
from gossamer.problems.quadratic import Quadratic
from gossamer.problems.robust_regression import RobustRegression

PROBLEMS: dict[str, Callable[..., Problem]] = {
    "RobustRegression": RobustRegression,
    "Quadratic": Quadratic,
}

__all__ = [
    "PROBLEMS",
    "LanguageProblem",
    "ModuleProblem",
    "Problem",
    "Quadratic",
    "RobustRegression",
]
