"""Vote list → criterion result → overall result → summary of a run."""

from judge.voting.overall import Overall, overall
from judge.voting.saving import Saving
from judge.voting.stopping import WRAPPED_UP, even_label_vote, more_samples
from judge.voting.summary import ErrorGroup, Summary, VerdictSums, summarise
from judge.voting.tally import tally
from judge.voting.usage import add_at_most, add_known, add_usage

__all__ = [
    "WRAPPED_UP",
    "ErrorGroup",
    "Overall",
    "Saving",
    "Summary",
    "VerdictSums",
    "add_at_most",
    "add_known",
    "add_usage",
    "even_label_vote",
    "more_samples",
    "overall",
    "summarise",
    "tally",
]
