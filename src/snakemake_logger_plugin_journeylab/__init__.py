"""Log lines of a workflow: jobs by study and arm, reasons of failures, training time, verdicts.

Snakemake finds this package by its name; a profile selects it with `logger: [journeylab]`.
"""

from snakemake_logger_plugin_journeylab.handler import LogHandler

__all__ = ["LogHandler"]
