"""What a run tells: its jobs by study and arm, why one failed, how long training takes, verdicts.

Snakemake finds this package by its name; a profile asks for it with `logger: [journeylab]`.
"""

from snakemake_logger_plugin_journeylab.handler import LogHandler

__all__ = ["LogHandler"]
