"""Every figure, table and claim as a resumable experiment; `EXPERIMENTS` lists them by name."""

from gossamer.experiments.auto_momentum import AutoMomentum
from gossamer.experiments.causal_reference import CausalReference
from gossamer.experiments.claim_1 import Claim1
from gossamer.experiments.connectivity import Connectivity
from gossamer.experiments.experiment import Experiment, Options, Unit
from gossamer.experiments.lemmas import Lemmas
from gossamer.experiments.nodes import Nodes
from gossamer.experiments.noise_evidence import NoiseEvidence
from gossamer.experiments.noise_level import NoiseLevel
from gossamer.experiments.rates import Rates
from gossamer.experiments.ring_noise import RingNoise
from gossamer.experiments.runner import run_experiment
from gossamer.experiments.speed_up import SpeedUp
from gossamer.experiments.store import Store
from gossamer.experiments.topology_independence import TopologyIndependence
from gossamer.experiments.transformer_readings import TransformerReadings
from gossamer.experiments.transformer_table import TransformerTable
from gossamer.experiments.verdict import Table, Verdict, judge

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        RingNoise(),
        Connectivity(),
        NoiseLevel(),
        Nodes(),
        Claim1(),
        Rates(),
        TopologyIndependence(),
        SpeedUp(),
        Lemmas(),
        AutoMomentum(),
        NoiseEvidence(),
        TransformerTable(),
        TransformerReadings(),
        CausalReference(),
    )
}

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Options",
    "Store",
    "Table",
    "Unit",
    "Verdict",
    "judge",
    "run_experiment",
]
