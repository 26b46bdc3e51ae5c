"""The report: one self-contained page and its figures, made from stored results only."""

from gossamer.report.page import write_report

__all__ = ["write_report"]
