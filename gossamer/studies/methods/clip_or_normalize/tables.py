"""The tables: what to use, the errors behind it, the theory's levels, mistakes, every choice."""

from gossamer.experiments import Results, Table
from gossamer.simulation.words import spread
from gossamer.studies.methods.clip_or_normalize.reading import (
    best_clipping,
    cost_of_mistakes,
    cost_of_rule,
    cost_of_theorem,
    median_and_worst,
    median_errors,
    ratios,
    tuned_errors,
)
from gossamer.studies.methods.clip_or_normalize.situations import (
    METHODS,
    SITUATIONS,
    SKEWNESS,
    Situation,
    unit_name,
)
from gossamer.studies.methods.standing import OURS
from gossamer.studies.wording import edges_in_words, show_chosen


def tables_of(results: Results) -> list[Table]:
    """All tables, in the order in which they are shown."""
    return [
        _decision(results),
        *(_final_errors(results, shape) for shape in SKEWNESS),
        _theory(results),
        _mistuned(results),
        _chosen(results),
    ]


def _decision(results: Results) -> Table:
    rows = [[s.name, *_lowest_and_clipping(results, s)] for s in SITUATIONS]
    title = (
        "The method that ends lowest, and the error of the best clipping method divided by that of "
        f"{OURS} (median, and range over the seeds in brackets)"
    )
    columns = ["nodes, noise and network", "ends lowest", f"error of best clipping / {OURS}"]
    return Table(title, columns, rows)


def _lowest_and_clipping(results: Results, situation: Situation) -> list[str]:
    """The lowest method, and how clipping compares with normalizing."""
    rival = best_clipping(results, situation)
    pair = (tuned_errors(results, situation, m) for m in (rival, OURS))
    return [next(iter(median_errors(results, situation))), spread(ratios(*pair))]


def _final_errors(results: Results, shape: str) -> Table:
    rows = [
        [s.name, *(spread(tuned_errors(results, s, method)) for method in METHODS)]
        for s in SITUATIONS
        if s.shape == shape
    ]
    title = f"Final errors of the tuned methods under {shape} noise: median [range]"
    return Table(title, ["nodes, noise and network", *METHODS], rows)


def _theory(results: Results) -> Table:
    rows = [[m, median_and_worst(cost_of_rule(results, m).values())] for m in METHODS]
    rows += [
        [
            f"{OURS}, with the step size of Theorem 1",
            median_and_worst(cost_of_theorem(results).values()),
        ]
    ]
    title = (
        "Error with the theory's momentum or clipping level, as a multiple of the error with tuned "
        "parameters. The step size is tuned in all rows but the last"
    )
    return Table(title, ["method", "in the median and in the worst situation"], rows)


def _mistuned(results: Results) -> Table:
    rows = [
        [method, *(median_and_worst(costs) for costs in zip(*found, strict=True))]
        for method in METHODS
        for found in [[cost_of_mistakes(results[unit_name(s, method)]) for s in SITUATIONS]]
    ]
    title = (
        "Error if one parameter is four times too small or too large, as a multiple of the error "
        "with tuned parameters, in the median and in the worst situation. In the row of "
        f"{OURS}, “level” means 1 − momentum"
    )
    columns = ["method", "step size ÷ 4", "step size × 4", "level ÷ 4", "level × 4"]
    return Table(title, columns, rows)


def _chosen(results: Results) -> Table:
    rows = [
        [
            method,
            situation.name,
            show_chosen(result["tuned"]["hyperparameters"]),
            edges_in_words(result["tuned"]["edges"]) or "none",
            show_chosen(result["by rule"]["hyperparameters"]),
        ]
        for method in METHODS
        for situation in SITUATIONS
        for result in [results[unit_name(situation, method)]]
    ]
    columns = ["method", "nodes, noise and network", "tuned to", "on an edge", "by rule"]
    return Table("What every search chose", columns, rows)
