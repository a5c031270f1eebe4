"""Eight pages of documentation of an invented product, and the search tool over them.

Quillstone is a notes service that a team runs on its own server. The search is plain:
words in common between query and page, the two best pages, nothing where no word fits.
"""

from __future__ import annotations

import re

from judge.types import Tool

PAGES: dict[str, tuple[str, str]] = {
    "install": (
        "Installing Quillstone",
        "Quillstone runs as a single container. The image needs 2 CPU cores and 1.5 GB of memory for up to 50 "
        "people. It listens on port 7420 unless QUILL_PORT says otherwise. Data lives in /var/lib/quillstone; "
        "mount a volume there before the first start. PostgreSQL 14 or newer is needed; SQLite is for trials only "
        "and refuses more than five accounts. Upgrades from a version older than 3.0 must go through 3.2 first.",
    ),
    "backup": (
        "Backup and restore",
        "A backup is taken every night at 02:30 server time and kept for 21 days. Change the hour with "
        "backup.schedule and the retention with backup.keep_days, at most 90. Attachments are included only when "
        "backup.attachments is on, which is off by default. To restore, stop the service and run quill restore "
        "with the archive; the running database is renamed, not deleted.",
    ),
    "sync": (
        "Sync between devices",
        "Desktop and phone apps sync every 45 seconds while open and once an hour in the background. When two "
        "devices change the same paragraph, the later edit wins and the earlier one is kept as a conflict copy "
        "beside the note. Offline edits are queued for up to 14 days; after that the app asks for a full resync. "
        "Sync uses a websocket; a proxy must allow upgrades on /live.",
    ),
    "sso": (
        "Single sign-on",
        "SAML and OpenID Connect are supported on the Team and Campus plans. The callback address is "
        "/auth/sso/return on your own host. New people get the role in sso.default_role, which is reader. "
        "Sessions opened by single sign-on end after 12 hours. Keep one owner with a password: if the identity "
        "provider is down, only password owners can log in, at /auth/local.",
    ),
    "limits": (
        "Limits and quotas",
        "A note may hold 400,000 characters. An attachment may be 64 MB, or 256 MB on the Campus plan. A "
        "notebook holds up to 20,000 notes. The API answers 120 requests a minute for each key and then sends "
        "status 429 with a Retry-After header. A workspace may have 30 webhooks.",
    ),
    "api-keys": (
        "API keys",
        "Create keys under Settings, Developers. A key is shown once and starts with qs_. Keys expire after 180 "
        "days unless an owner sets another lifetime. A key has the scopes read, write or admin; only owners can "
        "create admin keys. To rotate without downtime, create the second key first, deploy it, then revoke the "
        "first: a revoked key stops working within one minute.",
    ),
    "export": (
        "Exporting notes",
        "A notebook can be exported as Markdown, HTML or PDF. Markdown export keeps tags in the front matter and "
        "puts attachments in a folder named assets. Exports larger than 2 GB are split into parts. The download "
        "link stays valid for 72 hours. Comments are not part of an export, except in HTML.",
    ),
    "billing": (
        "Plans and billing",
        "The Team plan costs 6 USD a person each month, Campus 4 USD with at least 200 people. Yearly payment "
        "saves two months. Seats added during a month are charged pro rata on the next invoice; seats removed "
        "take effect at renewal. Invoices go to the billing contact on the first of the month. A failed payment "
        "is tried again after 3, 7 and 14 days; then the workspace becomes read-only.",
    ),
}

COMMON_TEXT = """
a an and are as at be by can do does for from how i if in is it long many much my of on or our the to what when
which with work works you your we will not there that this quillstone
"""
COMMON_WORDS = frozenset(COMMON_TEXT.split())

SEARCH = Tool(
    name="search_docs",
    description="Search the Quillstone documentation. Returns at most two pages, best first.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "words to look for"}},
        "required": ["query"],
    },
)


def words(text: str) -> set[str]:
    """Lower-case words of `text` that carry meaning."""
    return set(re.findall(r"[a-z0-9_]+", text.lower())) - COMMON_WORDS


def search(query: str) -> list[dict[str, str]]:
    """The two pages that share most words with `query` (a word in a title counts twice); [] where none does."""
    asked = words(query)
    ranked = sorted(
        (
            (len(asked & words(text)) + 2 * len(asked & words(title)), -place, page)
            for place, (page, (title, text)) in enumerate(PAGES.items())
        ),
        reverse=True,
    )
    return [{"id": page, "title": PAGES[page][0], "text": PAGES[page][1]} for score, _, page in ranked[:2] if score > 0]
