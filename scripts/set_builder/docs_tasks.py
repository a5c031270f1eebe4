"""The questions put to the docs agent, with the words of each way to answer them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from set_builder.docs_parts import (
    ADMIN_KEY,
    ATTACHMENT,
    ATTACHMENT_BACKUP,
    BACKGROUND,
    BACKUP,
    BACKUP_HOUR,
    CALLBACK,
    CONFLICT,
    EXPORT,
    EXPORT_LINK,
    FALLBACK,
    HARDWARE,
    KEY_LIFE,
    LARGE_EXPORT,
    LOST_KEY,
    NOTE_LENGTH,
    NOTEBOOK,
    OFFLINE,
    PAYMENT,
    PORT,
    PRICE,
    PROXY,
    RATE,
    RESTORE,
    ROLE,
    ROTATE,
    SEATS,
    SESSION,
    SQLITE,
    UPGRADE,
    WEBHOOKS,
    Part,
)


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
    DocsTask(
        "docs-port",
        "test",
        "Which port does the Quillstone container use? Another service already sits on 8080.",
        (PORT,),
        (
            "It listens on 7420, so 8080 does not matter. You can choose another port with QUILL_PORT.",
            "Port 7420 by default; QUILL_PORT changes it.",
        ),
        "Containers of this kind nearly always use 8080, so you will have to move the other service.",
        "It uses 8080 and that is fixed.",
        ("clean", "wasteful_repeat", "gave_up"),
    ),
    DocsTask(
        "docs-note-length",
        "test",
        "A colleague pastes whole interview transcripts into one note. Is there a point at which that stops working?",
        (NOTE_LENGTH,),
        (
            "Yes: one note may hold 400,000 characters. Beyond that the transcript has to be split.",
            "The limit for a single note is 400,000 characters.",
        ),
        "Notes are plain text, so there should be no limit that matters.",
        "A note ends at 40,000 characters.",
        ("clean", "recovered", "wasteful_repeat"),
    ),
    DocsTask(
        "docs-proxy",
        "test",
        "Since we put a reverse proxy in front, the phone app no longer syncs. What must the proxy let through?",
        (PROXY,),
        (
            "Sync runs over a websocket, so the proxy must allow connection upgrades on /live.",
            "Allow websocket upgrades for /live in the proxy; sync depends on that.",
        ),
        "Open ports 80 and 443 and clear the app, that normally helps.",
        "Nothing special: sync uses ordinary requests on /api.",
        ("clean", "stalled", "gave_up"),
    ),
    DocsTask(
        "docs-default-role",
        "test",
        "We are about to switch on SAML for everybody. What will new people be able to do after their first login?",
        (ROLE,),
        (
            "New people become reader. Another role can be set in sso.default_role.",
            "They start with the role reader, unless you change sso.default_role before.",
        ),
        "New people get the role editor and can write in shared notebooks right away.",
        "They become owners until somebody changes it.",
        ("clean", "recovered", "wasteful_repeat"),
    ),
    DocsTask(
        "docs-restore",
        "test",
        "If I restore a backup, is the database that is running now gone for good?",
        (RESTORE,),
        (
            "No. Stop the service and run quill restore: the running database is renamed, not deleted.",
            "It is kept: quill restore gives the running database another name and deletes nothing.",
        ),
        "A restore always replaces the database, so take a copy first.",
        "Yes, it is dropped at once when the restore starts.",
        ("clean", "wandering", "gave_up"),
    ),
    DocsTask(
        "docs-campus-price",
        "test",
        "We are a college with 350 people. What would Campus cost us each month?",
        (PRICE,),
        (
            "Campus costs 4 USD a person each month, so 350 people are 1,400 USD. You are above the minimum of 200.",
            "4 USD times 350 people is 1,400 USD a month; the minimum of 200 people is met.",
        ),
        "Plans for schools are usually free, so I would expect no costs.",
        "Campus costs 6 USD a person, 2,100 USD a month.",
        ("clean", "recovered", "stalled"),
    ),
    DocsTask(
        "docs-large-export",
        "test",
        "Our archive notebook has about 5 GB of scans. Will its export come as one file?",
        (LARGE_EXPORT,),
        (
            "No, exports larger than 2 GB are split, so expect several parts. The link is valid for 72 hours.",
            "It will be split into parts, as is every export above 2 GB.",
        ),
        "Yes, you get a single zip file of whatever size.",
        "One file: exports are split only above 10 GB.",
        ("clean", "wasteful_reworded", "ungrounded"),
    ),
    DocsTask(
        "docs-sqlite",
        "test",
        "We are nine people and would rather not run a database server. Can Quillstone stay on SQLite?",
        (SQLITE,),
        (
            "No. SQLite is for trials and refuses more than five accounts, so nine people need PostgreSQL 14 or newer.",
            "Not with nine people: SQLite stops at five accounts. Set up PostgreSQL 14 or newer.",
        ),
        "SQLite copes well with small teams, so nine people should be no problem.",
        "Yes, SQLite serves up to fifty accounts.",
        ("clean", "recovered", "wasteful_repeat", "stalled"),
    ),
    DocsTask(
        "docs-backup-hour",
        "test",
        "The nightly backup collides with our batch jobs. Can we move it to another time?",
        (BACKUP_HOUR,),
        (
            "Yes. It runs at 02:30 server time unless you set another hour in backup.schedule.",
            "By default it starts at 02:30 server time; backup.schedule moves it to the hour that you want.",
        ),
        "Backups of this kind are started by cron, so edit the crontab of the host.",
        "The time is fixed at midnight, so the batch jobs have to move.",
        ("clean", "recovered", "stalled", "gave_up"),
    ),
    DocsTask(
        "docs-background-sync",
        "test",
        "I changed a note on my laptop twenty minutes ago. My phone, where the app is in the background, shows the old "
        "text. Is sync broken?",
        (BACKGROUND,),
        (
            "Probably not: in the background the app syncs only once an hour. Open it, and it syncs every 45 seconds.",
            "Nothing points to that. Apps in the background sync once an hour, open ones every 45 seconds, so open it.",
        ),
        "It sounds broken. Signing out and in again usually brings sync back.",
        "Yes, it is broken: apps sync every 45 seconds in the background as well.",
        ("recovered", "clean", "wasteful_repeat", "gave_up"),
    ),
    DocsTask(
        "docs-callback-and-admin-key",
        "test",
        "Two things before we connect SAML and our account script: which callback address do we enter at the provider, "
        "and who may create an admin key?",
        (CALLBACK, ADMIN_KEY),
        (
            "The callback address is /auth/sso/return on your own host. Admin keys can be created by owners only.",
            "Enter /auth/sso/return on your host at the provider, and ask an owner for the key: nobody else can create "
            "admin keys.",
        ),
        "The callback normally ends in /saml/acs, and any administrator can create the key.",
        "The callback address is /auth/sso/return on your own host, and any member can create an admin key.",
        ("two_search_but_sensible", "recovered", "half_searched", "stalled"),
    ),
    DocsTask(
        "docs-lost-key",
        "test",
        "I closed the page before I had copied our new API key. Where can I look it up?",
        (LOST_KEY,),
        (
            "Nowhere: a key is shown once. Create another one under Settings, Developers, and revoke the lost one.",
            "A key is shown only once, so it cannot be looked up. Create a new one under Settings, Developers.",
        ),
        "Open your profile and click the eye beside the key; it will be displayed in full.",
        "Go to Settings, Developers: the full key stays visible there for an hour.",
        ("clean", "recovered", "gave_up", "wasteful_reworded"),
    ),
    DocsTask(
        "docs-export-link",
        "test",
        "On Monday I exported a notebook and mailed the link to a customer who reads mail on Fridays. Will it work?",
        (EXPORT_LINK,),
        (
            "No. The download link is valid for 72 hours, so Monday's stops on Thursday. Export it again on Friday.",
            "By Friday it has expired, as links stay valid for 72 hours. Send the file itself or a new link.",
        ),
        "Links like that normally work for a week, so Friday should be fine.",
        "Yes. The link stays valid for seven days, so your customer can open it on Friday.",
        ("clean", "clean", "stalled", "ungrounded"),
    ),
    DocsTask(
        "docs-seats-removed",
        "test",
        "Two colleagues leave in March and our plan renews in July. From when do we stop paying for their seats?",
        (SEATS,),
        (
            "From the renewal in July: removing a seat takes effect at renewal and not before.",
            "Seats that you remove take effect at renewal, so you pay for both until July.",
        ),
        "Seats are usually counted by the day, so you stop paying when they leave.",
        "From the next invoice: removed seats are credited pro rata.",
        ("clean", "recovered", "gave_up", "wasteful_repeat"),
    ),
    DocsTask(
        "docs-notebook-and-hardware",
        "test",
        "We are 40 people and want to bring 15,000 notes into one notebook. Does it hold that many, and what does the "
        "server need?",
        (NOTEBOOK, HARDWARE),
        (
            "Yes, a notebook holds up to 20,000 notes. The server needs 2 CPU cores and 1.5 GB of memory, which is "
            "enough for up to 50 people.",
            "15,000 notes fit, since a notebook may have 20,000. For 40 people 2 CPU cores and 1.5 GB of memory do.",
        ),
        "I know of no limit for notebooks, and 4 cores with 8 GB are a good start for any server.",
        "A notebook holds 20,000 notes, and a server for 40 people needs 8 CPU cores and 16 GB of memory.",
        ("two_search_but_sensible", "two_search_but_sensible", "wasteful_repeat", "stalled"),
    ),
)
