"""The report: one self-contained page with figures, made only from stored results."""

from gossamer.report.page import write_report

__all__ = ["write_report"]
