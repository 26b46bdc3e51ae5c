"""The version, for the package and for the results it writes."""

__version__ = "0.3.0.dev0"
