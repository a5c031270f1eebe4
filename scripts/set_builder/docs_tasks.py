"""The questions put to the docs agent, with the words of each way to answer them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Part:
    """One question that one page answers.

    Attributes:
        page: Id of the page with the answer.
        fact: Words of that page which the right answer rests on.
        queries: Ways to look for it; each finds the page. The first three hardly differ.
        reworded: The same question in other words; it finds the page too.
            None of these queries finds the page of another part of the task.
        dead: A query that finds nothing.
        off: Queries that find other pages only.
    """

    page: str
    fact: str
    queries: tuple[str, str, str]
    reworded: tuple[str, str]
    dead: str
    off: tuple[str, str]


@dataclass(frozen=True)
class DocsTask:
    """A question, its parts and its answers.

    Attributes:
        answers: Right answers; the first two rest on the pages, in different words.
        guess: An answer from no page at all.
        wrong: An answer that the page found contradicts.
        plan: The kinds of run to build, in order.
    """

    group: str
    split: Literal["dev", "test"]
    question: str
    parts: tuple[Part, ...]
    answers: tuple[str, str]
    guess: str
    wrong: str
    plan: tuple[str, ...]


BACKUP = Part(
    "backup",
    "21 days",
    ("backup retention days", "backup retention days default", "backup retention days kept"),
    ("nightly archive kept", "restore archive keep_days"),
    "snapshots lifespan",
    ("attachment quota workspace", "invoices yearly payment"),
)
CONFLICT = Part(
    "sync",
    "conflict copy",
    ("sync conflict same paragraph", "sync conflict paragraph", "same paragraph sync conflict edits"),
    ("two devices changed note", "later edit wins"),
    "merging simultaneous typing",
    ("notebook markdown front matter", "webhooks per workspace"),
)
FALLBACK = Part(
    "sso",
    "/auth/local",
    ("single sign-on provider down login", "sign-on provider down", "single sign-on identity provider down"),
    ("owner password local", "SAML outage owner"),
    "locked out okta",
    ("revoked key minute", "read-only payment failed"),
)
RATE = Part(
    "limits",
    "120 requests a minute",
    ("API requests minute limit", "API requests per minute limit", "API requests limit 429"),
    ("status 429 header", "quotas retry-after"),
    "throttling ceilings",
    ("proxy websocket upgrades", "create scopes owners"),
)
ROTATE = Part(
    "api-keys",
    "create the second key first",
    ("rotate API key downtime", "rotate API key without downtime", "API key rotate downtime steps"),
    ("revoke old key deploy", "second key first"),
    "credential swapping",
    ("container volume port", "download link valid"),
)
EXPORT = Part(
    "export",
    "Comments are not part of an export, except in HTML",
    ("export comments notebook", "export notebook comments format", "comments export notebook PDF"),
    ("exporting HTML comments", "markdown download assets"),
    "discussion threads archiving",
    ("default role sessions", "cores memory"),
)
PAYMENT = Part(
    "billing",
    "3, 7 and 14 days",
    ("failed payment retry days", "failed payment again days", "billing failed payment days"),
    ("workspace becomes read-only invoice", "payment contact month"),
    "declined visa consequences",
    ("offline edits queued", "PostgreSQL newer trials"),
)
ATTACHMENT = Part(
    "limits",
    "256 MB on the Campus plan",
    ("attachment size Campus limits", "attachment size limits Campus plan", "Campus attachment size limits MB"),
    ("quotas MB", "biggest attachment limits"),
    "uploading videos",
    ("default_role reader", "resync phone"),
)
ATTACHMENT_BACKUP = Part(
    "backup",
    "backup.attachments",
    ("backup attachments included", "are attachments included in backup", "backup attachments default"),
    ("nightly archive attachments restore", "backup.attachments off"),
    "uploading videos safely",
    ("callback address host", "seats renewal"),
)
KEY_LIFE = Part(
    "api-keys",
    "180 days",
    ("API keys expire days", "API keys expire after days", "API keys expire lifetime days"),
    ("key lifetime owner sets", "keys expire"),
    "tokens validity",
    ("campus price person", "conflict copy beside"),
)
WEBHOOKS = Part(
    "limits",
    "30 webhooks",
    ("webhooks workspace limit", "webhooks limit", "limit webhooks workspace number"),
    ("quotas webhooks", "workspace limits"),
    "integrations maximum",
    ("restore archive stop service", "PDF front matter"),
)
SESSION = Part(
    "sso",
    "12 hours",
    ("single sign-on session length", "single sign-on session length hours", "single sign-on session hours"),
    ("sessions opened end", "OpenID sessions"),
    "auto logout timer",
    ("invoices contact", "notebook 20,000"),
)
OFFLINE = Part(
    "sync",
    "14 days",
    ("offline edits queued sync", "sync offline edits days", "offline edits sync queue"),
    ("resync queued edits", "devices offline sync"),
    "airplane mode",
    ("SQLite refuses accounts", "admin keys create"),
)
UPGRADE = Part(
    "install",
    "must go through 3.2 first",
    ("upgrades from older version", "upgrade from older version", "older version upgrades from 2.8"),
    ("installing 3.2 first", "version older 3.0"),
    "migrating legacy release",
    ("Retry-After status", "Markdown tags"),
)

TASKS = (
    DocsTask(
        "docs-backup-retention",
        "test",
        "How long does Quillstone keep its nightly backups, and can we change that?",
        (BACKUP,),
        (
            "Nightly backups are kept for 21 days. You can change this with backup.keep_days, up to 90 days.",
            "The default retention is 21 days; set backup.keep_days to anything up to 90 to keep them longer.",
        ),
        "Most self-hosted services keep backups for about 30 days, and yes, it should be configurable.",
        "Backups are kept for 7 days and the retention cannot be changed.",
        ("clean", "wasteful_repeat", "gave_up", "recovered", "stalled"),
    ),
    DocsTask(
        "docs-sync-conflict",
        "dev",
        "Ana edited a paragraph on her phone while I was editing the same one on my laptop. Did one of us lose text?",
        (CONFLICT,),
        (
            "No text is lost. The later edit stays in the note, and the earlier one is kept beside it as a conflict "
            "copy, so you can merge by hand.",
            "Whoever saved last is in the note; the other version sits next to it as a conflict copy.",
        ),
        "Quillstone merges edits character by character, so both changes will be in the note.",
        "I am afraid the earlier edit is overwritten and cannot be recovered.",
        ("clean", "wandering", "recovered", "wasteful_repeat", "ungrounded"),
    ),
    DocsTask(
        "docs-sso-down",
        "test",
        "Our identity provider is down this morning and nobody gets into Quillstone. Is there any way in?",
        (FALLBACK,),
        (
            "Yes, for owners with a password: they can log in at /auth/local while the provider is down. Everyone "
            "else has to wait.",
            "An owner who still has a password can use /auth/local. Accounts that only have single sign-on cannot.",
        ),
        "Try clearing the browser's cookies and wait until the provider is back; there is no other way in.",
        "Any member can log in with an e-mail code at /auth/local, so tell everybody to go there.",
        ("clean", "recovered", "wasteful_repeat", "gave_up", "wandering"),
    ),
    DocsTask(
        "docs-rate-limit",
        "test",
        "Our nightly job gets 429 from the Quillstone API. What is the limit and how should the job behave?",
        (RATE,),
        (
            "Each key may send 120 requests a minute. Beyond that you get 429 with a Retry-After header: wait that "
            "long, then go on.",
            "The limit is 120 requests a minute per key. Let the job read Retry-After on a 429 and pause for it.",
        ),
        "The API probably allows 60 calls a minute. Add a sleep of one second between calls.",
        "The limit is 1,200 requests an hour for the whole workspace, so spread the job over several hours.",
        ("clean", "clean", "wasteful_repeat", "gave_up", "stalled"),
    ),
    DocsTask(
        "docs-key-rotation",
        "dev",
        "We have to rotate the API key of our importer but it may not stop. In which order do we do it?",
        (ROTATE,),
        (
            "Create the second key first, deploy it to the importer, and only then revoke the old one. The old key "
            "dies within a minute of being revoked.",
            "New key, deploy, revoke: in that order. Revoking takes effect within one minute, so do it last.",
        ),
        "Just revoke the key and make a new one; the old one usually keeps working for a day.",
        "Revoke the old key first. It keeps working for 24 hours, which leaves time to create the second one.",
        ("clean", "recovered", "wandering", "gave_up", "wasteful_reworded"),
    ),
    DocsTask(
        "docs-export-comments",
        "test",
        "I must hand a notebook to an auditor, with the comments. Which export format do I take?",
        (EXPORT,),
        (
            "Take HTML: it is the only export that contains comments. The download link is valid for 72 hours.",
            "HTML. Markdown and PDF exports leave the comments out. Send the link on within 72 hours.",
        ),
        "PDF is what auditors like best, and it contains everything on the page including comments.",
        "Choose PDF, which includes comments; HTML and Markdown leave them out.",
        ("clean", "recovered", "wasteful_repeat", "ungrounded", "wandering"),
    ),
    DocsTask(
        "docs-failed-payment",
        "dev",
        "Our card expired and this month's payment failed. How much time have we got before something happens?",
        (PAYMENT,),
        (
            "The charge is tried again after 3, 7 and 14 days. If the last try fails too, the workspace becomes "
            "read-only, so you have two weeks.",
            "Two weeks: there are further tries after 3, 7 and 14 days, and then the workspace is read-only.",
        ),
        "You normally have until the end of the month before a service is switched off.",
        "The workspace is deleted after 14 days, so export everything today.",
        ("clean", "recovered", "stalled", "wasteful_repeat", "gave_up"),
    ),
    DocsTask(
        "docs-attachments",
        "test",
        "We are on Campus and want to attach lecture recordings. How large may one be, and are attachments backed up?",
        (ATTACHMENT, ATTACHMENT_BACKUP),
        (
            "On Campus an attachment may be 256 MB. Attachments are not in the nightly backup unless you switch on "
            "backup.attachments.",
            "Up to 256 MB each on your plan. Mind that backups leave attachments out by default; turn on "
            "backup.attachments.",
        ),
        "Recordings of up to 1 GB should be fine, and they are backed up together with your notes.",
        "Campus allows 256 MB, and attachments are always part of the nightly backup, so there is nothing to do.",
        ("two_search_but_sensible", "two_search_but_sensible", "recovered", "wasteful_repeat", "half_searched"),
    ),
    DocsTask(
        "docs-keys-and-webhooks",
        "dev",
        "Two things for our integration plan: after how many days does an API key expire, and how many webhooks may a "
        "workspace have?",
        (KEY_LIFE, WEBHOOKS),
        (
            "Keys expire after 180 days unless an owner sets another lifetime, and a workspace may have 30 webhooks.",
            "180 days for a key (an owner can set another lifetime); 30 webhooks per workspace.",
        ),
        "API keys do not expire, and there is no fixed limit on webhooks that I know of.",
        "A key expires after 180 days, and webhooks are unlimited on every plan.",
        ("two_search_but_sensible", "recovered", "wasteful_repeat", "half_searched", "gave_up"),
    ),
    DocsTask(
        "docs-session-and-offline",
        "test",
        "I am writing our travel guide: how long does a single sign-on session last, and for how many days can someone "
        "edit offline?",
        (SESSION, OFFLINE),
        (
            "A single sign-on session ends after 12 hours. Offline edits are queued for up to 14 days; later the app "
            "asks for a full resync.",
            "Sessions last 12 hours; edits made offline are held for 14 days before a full resync is needed.",
        ),
        "Sessions usually last a day, and offline editing works for as long as the laptop has space.",
        "Sessions last 12 hours, and offline edits are dropped after 24 hours.",
        ("two_search_but_sensible", "wandering", "wasteful_repeat", "gave_up", "half_searched"),
    ),
    DocsTask(
        "docs-upgrade",
        "test",
        "Our server still runs Quillstone 2.8. Can I upgrade it to the current release in one go tonight?",
        (UPGRADE,),
        (
            "Not in one go: anything older than 3.0 must go through 3.2 first. Upgrade to 3.2, then to the current "
            "release.",
            "From 2.8 you need a stop at 3.2. After that the current release can be installed directly.",
        ),
        "Yes, just pull the newest image and restart; migrations run by themselves.",
        "Yes. Upgrades from any version to the current release work in one step.",
        ("clean", "recovered", "wasteful_repeat", "gave_up", "stalled"),
    ),
)
