"""Single questions that one page of the documentation answers, with the queries that find it and those that do not."""

from __future__ import annotations

from dataclasses import dataclass


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
PORT = Part(
    "install",
    "port 7420",
    ("container port QUILL_PORT", "container port", "port container listens QUILL_PORT"),
    ("image listens unless", "installing port"),
    "firewall openings",
    ("conflict copy devices", "invoices month contact"),
)
NOTE_LENGTH = Part(
    "limits",
    "400,000 characters",
    ("note length characters limit", "note length limit", "maximum note length characters limit"),
    ("note hold characters", "quotas note 400,000"),
    "writing novels",
    ("port unless QUILL_PORT", "identity provider down"),
)
PROXY = Part(
    "sync",
    "a proxy must allow upgrades on /live",
    ("sync proxy websocket", "sync websocket proxy live", "proxy websocket"),
    ("allow upgrades live", "websocket sync"),
    "nginx configuration",
    ("failed payment days", "admin scopes owners"),
)
ROLE = Part(
    "sso",
    "sso.default_role, which is reader",
    ("sign-on default role new people", "default role new people", "default role single sign-on"),
    ("sso.default_role", "new people get reader"),
    "permissions granted automatically",
    ("export PDF comments", "webhooks workspace"),
)
RESTORE = Part(
    "backup",
    "the running database is renamed, not deleted",
    ("restore backup database", "restore backup running database", "backup restore database deleted"),
    ("quill restore archive", "database renamed"),
    "recovering yesterday's state",
    ("callback host", "seats pro rata"),
)
PRICE = Part(
    "billing",
    "Campus 4 USD with at least 200 people",
    ("Campus plan price person month", "Campus plan price month", "price Campus plan person"),
    ("plans 4 USD people", "Campus costs 200 people"),
    "quotation universities",
    ("websocket proxy", "restore archive"),
)
LARGE_EXPORT = Part(
    "export",
    "larger than 2 GB are split into parts",
    ("export larger than 2 GB", "export larger 2 GB", "large export 2 GB parts"),
    ("exports split parts", "download link notebook exported"),
    "huge zip",
    ("revoke key deploy", "sessions role"),
)
SQLITE = Part(
    "install",
    "SQLite is for trials only and refuses more than five accounts",
    ("SQLite accounts team", "SQLite accounts team limit", "SQLite team accounts PostgreSQL"),
    ("installing without PostgreSQL", "trials refuses five"),
    "embedded storage engine",
    ("download link valid", "seats pro rata"),
)
BACKUP_HOUR = Part(
    "backup",
    "Change the hour with backup.schedule",
    ("backup hour change", "change backup hour schedule", "backup schedule hour night"),
    ("every night 02:30", "backup.schedule setting"),
    "cron timing",
    ("reader role sessions", "tags front matter"),
)
BACKGROUND = Part(
    "sync",
    "once an hour in the background",
    ("phone app background sync", "background sync phone app hour", "phone sync background"),
    ("apps sync every", "apps background hour"),
    "stale screen refresh",
    ("larger parts split exports", "owners scopes admin"),
)
CALLBACK = Part(
    "sso",
    "/auth/sso/return on your own host",
    ("SAML callback address", "SAML callback address provider", "callback address SAML host"),
    ("/auth/sso/return host", "OpenID Connect return"),
    "redirect uri",
    ("seats invoice", "memory cores"),
)
ADMIN_KEY = Part(
    "api-keys",
    "only owners can create admin keys",
    ("admin keys create", "create admin keys scopes", "admin keys scopes create settings"),
    ("scopes read write admin", "developers settings admin"),
    "privileged tokens",
    ("websocket proxy", "invoices month"),
)
LOST_KEY = Part(
    "api-keys",
    "A key is shown once",
    ("API key shown", "API key shown again", "API key shown once"),
    ("settings developers keys", "secret qs_ starts"),
    "recover forgotten token",
    ("conflict copy paragraph", "Campus people month"),
)
EXPORT_LINK = Part(
    "export",
    "link stays valid for 72 hours",
    ("export download link valid", "export download link hours", "download link export valid hours"),
    ("download stays valid 72", "exported notebook download"),
    "expired zip url",
    ("SAML OpenID plans", "archive restore"),
)
SEATS = Part(
    "billing",
    "seats removed take effect at renewal",
    ("seats removed billing", "billing seats removed renewal", "removed seats billing month"),
    ("people leave seats", "renewal effect removed"),
    "employees quitting",
    ("markdown assets", "offline edits resync"),
)
NOTEBOOK = Part(
    "limits",
    "notebook holds up to 20,000 notes",
    ("notebook notes limits", "notebook limits notes number", "how many notes notebook limits"),
    ("quotas notebook holds", "workspace quotas"),
    "maximum binder capacity",
    ("restore renamed database", "invoices contact"),
)
HARDWARE = Part(
    "install",
    "2 CPU cores and 1.5 GB of memory for up to 50 people",
    ("CPU cores memory people", "cores memory people", "memory CPU cores people installing"),
    ("installing container image", "server requirements CPU"),
    "hardware sizing",
    ("conflict copy", "sessions end hours"),
)
