"""buildfix repairs the dependency edges of Buck and Bazel targets."""

__version__ = "0.1.0"
