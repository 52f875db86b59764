"""The response to the reviewers: their points, each with the verdicts that answer it."""

from journeylab.reports.response.describe import Question, describe_response, figure_files
from journeylab.reports.response.latex import write_archive, write_latex
from journeylab.reports.response.text import plain_text

__all__ = [
    "Question",
    "describe_response",
    "figure_files",
    "plain_text",
    "write_archive",
    "write_latex",
]
