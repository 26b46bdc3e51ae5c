"""Problems: n private objectives f_i with their gradients, and facts about their average f."""

from collections.abc import Callable

from gossamer.problems.function_problem import FunctionProblem
from gossamer.problems.gradient_check import check_gradient
from gossamer.problems.language import LanguageProblem
from gossamer.problems.least_squares import LeastSquares
from gossamer.problems.linear_model import LinearModel
from gossamer.problems.logistic_regression import LogisticRegression
from gossamer.problems.module_problem import ModuleProblem
from gossamer.problems.penalty import L2Penalty, NonconvexPenalty, Penalty
from gossamer.problems.problem import Problem
from gossamer.problems.quadratic import Quadratic
from gossamer.problems.robust_regression import RobustRegression

PROBLEMS: dict[str, Callable[..., Problem]] = {
    "RobustRegression": RobustRegression,
    "Quadratic": Quadratic,
}

__all__ = [
    "PROBLEMS",
    "FunctionProblem",
    "L2Penalty",
    "LanguageProblem",
    "LeastSquares",
    "LinearModel",
    "LogisticRegression",
    "ModuleProblem",
    "NonconvexPenalty",
    "Penalty",
    "Problem",
    "Quadratic",
    "RobustRegression",
    "check_gradient",
]
