"""The version of this package, for all that names it in what it writes."""

__version__ = "0.1.0"
