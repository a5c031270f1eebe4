"""How many tokens a text takes, where the model's own tokenizer is not at hand."""

from __future__ import annotations

BYTES_A_TOKEN = 2.5


def estimate_tokens(text: str) -> int:
    """An overestimate: one token for 2.5 bytes of UTF-8.

    English prose takes about 4 bytes a token and JSON about 3 with the tokenizers of 2024 and
    later, so a trajectory is counted 20 to 60 % too long. Text that is mostly hexadecimal or
    random characters can take more tokens than this.
    """
    return int(len(text.encode("utf-8", "surrogatepass")) / BYTES_A_TOKEN) + 1 if text else 0
