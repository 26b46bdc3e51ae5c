"""The report: figures beside one self-contained page, made from stored results only."""

from gossamer.report.page import write_report

__all__ = ["write_report"]
