"""Experiments that test the paper's claims and our own; `EXPERIMENTS` lists them by name."""

from typing import Any

from gossamer.experiments import Experiment
from gossamer.studies.language.modern_table.study import ModernTable
from gossamer.studies.language.noise_evidence import NoiseEvidence
from gossamer.studies.language.transformer_readings import TransformerReadings
from gossamer.studies.language.transformer_table import TransformerTable
from gossamer.studies.methods.all_methods import AllMethods
from gossamer.studies.methods.bad_networks.study import BadNetworks
from gossamer.studies.methods.clip_or_normalize.study import ClipOrNormalize
from gossamer.studies.synthetic.connectivity import Connectivity
from gossamer.studies.synthetic.nodes import Nodes
from gossamer.studies.synthetic.noise_level import NoiseLevel
from gossamer.studies.synthetic.ring_noise import RingNoise
from gossamer.studies.theory.auto_momentum import AutoMomentum
from gossamer.studies.theory.claim_1 import Claim1
from gossamer.studies.theory.lemmas import Lemmas
from gossamer.studies.theory.rates import Rates
from gossamer.studies.theory.speed_up import SpeedUp
from gossamer.studies.theory.topology_independence import TopologyIndependence

EXPERIMENTS: dict[str, Experiment[Any]] = {
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
        AllMethods(),
        BadNetworks(),
        ClipOrNormalize(),
        NoiseEvidence(),
        TransformerTable(),
        TransformerReadings(),
        ModernTable(),
    )
}

__all__ = ["EXPERIMENTS"]
