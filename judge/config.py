"""judge.toml, the environment and flags → one frozen Settings. The only reader of the environment.

Order, strongest first: flags, environment, ``judge.toml`` (in the working folder or the path
in ``JUDGE_CONFIG``), defaults. An unknown key is an error with a suggestion.
"""

from __future__ import annotations

import base64
import difflib
import os
import re
import tomllib
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import ConfigDict, Field, SecretStr, ValidationError, model_validator

from judge.errors import ConfigError
from judge.types.escalation import EscalationRules
from judge.types.record import Record
from judge.types.stop_rule import StopRule
from judge.types.verdict import VoteRule

DEFAULT_LOCAL_JUDGE = "local/smollm2-135m"
Structured = Literal["json_schema", "json_object", "tool", "plain"]


class Finite(Record):
    """Settings in which no number is infinite: what has no limit is None."""

    model_config = ConfigDict(allow_inf_nan=False)


class ProviderSettings(Finite):
    """How one provider is reached.

    Attributes:
        base_url: All requests go there and nowhere else. A user, password or query in it is moved to
            `Settings.keys` on loading, so that what is stored and shown never holds them.
        api_key_env: Name of the environment variable that holds the key; the key itself is never stored.
        headers: Extra HTTP headers; ``${NAME}`` in a value is read from the environment when sending.
        timeout_s: Longest time for one HTTP request, from sending to the last byte, in seconds.
        concurrency: Most calls under way at once; None for the run's.
        requests_per_minute, tokens_per_minute: Quotas, or None for those that the server's headers tell.
    """

    base_url: str | None = None
    api_key_env: str | None = None
    headers: dict[str, str] = {}
    timeout_s: float = Field(default=120.0, gt=0)
    concurrency: int | None = Field(default=None, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)


class BatchApiSettings(Finite):
    """How the batch API of a provider is used (`--engine provider-batch`).

    Attributes:
        requests: Most requests in one batch, or None for what the provider takes; `megabytes` likewise for its size.
        first_poll_s: Seconds until a batch is first asked for; each further wait is half as long again, up to
            `longest_poll_s`.
        tries: Batches that one request may be put into before its failure counts.
        settle_s: Seconds after which a submission that nobody can find at the provider counts as never received.
        price_share: What a token costs in a batch as a share of its usual price, where no table has its own price for
            batches. None for 0.5, which is what OpenAI and Anthropic take, and for 1 behind a `base_url`, of which
            their price lists say nothing.
    """

    requests: int | None = Field(default=None, ge=1)
    megabytes: float | None = Field(default=None, gt=0)
    first_poll_s: float = Field(default=10.0, gt=0)
    longest_poll_s: float = Field(default=120.0, gt=0)
    tries: int = Field(default=3, ge=1, le=20)
    settle_s: float = Field(default=60.0, ge=0)
    price_share: float | None = Field(default=None, ge=0, le=1)


class ModelSettings(Finite):
    """What is known of one model, by the judge's full name; overrides what the package knows.

    Attributes:
        context_tokens: Prompt and reply together.
        input_usd_per_million, output_usd_per_million: Prices; both or neither.
        structured: How the reply is forced into JSON: "json_schema", "json_object", "tool", or "plain" for not
            at all; None lets the provider choose.
        small: A small model behind a compatible server: the reply gets a longest text and list, only steps that
            exist, and no quotes, which such models cannot copy.
    """

    context_tokens: int | None = Field(default=None, ge=256)
    input_usd_per_million: float | None = Field(default=None, ge=0)
    output_usd_per_million: float | None = Field(default=None, ge=0)
    structured: Structured | None = None
    small: bool = False


class Settings(Finite):
    """Everything a run depends on that is not its input.

    Attributes:
        judge: Name of the judge, or None for the default (see `default_judge`).
        samples: Votes for one verdict, or None for the default of the scale.
        stop: Draw votes one by one until the outcome is decided; `samples` overrules it.
        retries: Tries after the first for a sample whose reply is unusable.
        http_retries: Tries after the first for one HTTP request that may succeed later.
        max_wait_s: Longest wait that is obeyed when a server asks for one; more is an error that states it. Also how
            long a provider that refuses every call (429, 503, 529) is waited for, in seconds.
        call_deadline_s: Longest time for one judge call with all its tries and waits, in seconds; None for no limit.
        escalate: Which verdicts of `judge score` and `judge batch` are sent on, and to whom; nobody by default.
        cache: Whether the reply cache is read and written: true for the one in `cache_dir`, or the address of a
            server that many share, "redis://HOST:PORT/DB" or "rediss://". User, password and options of the address
            are moved to `keys` on loading.
        cache_optional: Go on without a shared cache that does not answer at the start.
        cache_days: How long a reply stays in a shared cache; None for as long as the server keeps it.
        juries: Folder of jury files: the judge "jury/NAME" is NAME.yaml in it.
        max_usd: Spend cap of a run in US dollars; max_usd_per_item of one trajectory, max_usd_per_day of everything
            judged with this cache folder on one day (UTC).
        price_file: JSON of model name to prices in the form of litellm's table; goes before that table.
        telemetry: Whether judge calls are traced and measured by OpenTelemetry; on where its exporter is configured.
        min_coverage: Least share of scored trajectories for a summary to pass.
        keys: Secrets by environment name; never dumped, never shown.
    """

    judge: str | None = None
    rubric: str = "process"
    samples: int | None = Field(default=None, ge=1, le=101)
    stop: StopRule | None = None
    escalate: EscalationRules = EscalationRules()
    vote: VoteRule = "auto"
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = None
    max_output_tokens: int = Field(default=1024, ge=16)
    thinking_tokens: int | None = Field(default=None, ge=0)
    reasoning_effort: str | None = None
    logprobs: bool = False
    retries: int = Field(default=2, ge=0, le=10)
    http_retries: int = Field(default=4, ge=0, le=20)
    max_wait_s: float = Field(default=300.0, gt=0)
    call_deadline_s: float | None = Field(default=None, gt=0)
    concurrency: int = Field(default=8, ge=1, le=4096)
    cache: bool | str = True
    cache_optional: bool = False
    cache_days: float | None = Field(default=None, gt=0)
    cache_dir: Path
    certificates: Path = Path(".judge/certificates")
    juries: Path = Path("juries")
    max_usd: float | None = Field(default=None, gt=0)
    max_usd_per_item: float | None = Field(default=None, gt=0)
    max_usd_per_day: float | None = Field(default=None, gt=0)
    price_file: Path | None = None
    telemetry: bool = False
    min_coverage: float = Field(default=0.0, ge=0, le=1)
    providers: dict[str, ProviderSettings] = {}
    models: dict[str, ModelSettings] = {}
    batch_api: BatchApiSettings = BatchApiSettings()
    keys: dict[str, SecretStr] = Field(default={}, exclude=True, repr=False)

    def provider(self, name: str) -> ProviderSettings:
        """Settings of a provider, defaults where none are given."""
        return self.providers.get(name, ProviderSettings())

    def model(self, judge: str) -> ModelSettings:
        """Settings of a model by the judge's full name."""
        return self.models.get(judge, ModelSettings())

    def key(self, provider: str) -> str | None:
        """The provider's API key, or None. The only way to a secret; never log what it returns."""
        name = self.provider(provider).api_key_env or KEY_NAMES.get(provider)
        secret = self.keys.get(name) if name else None
        return secret.get_secret_value() if secret else None

    def secrets(self) -> tuple[str, ...]:
        """Every secret text that must not reach a file, a log or an error."""
        found: list[str] = []
        for name, secret in self.keys.items():
            text = secret.get_secret_value()
            found.append(text)
            if name.startswith(_URL_OF) or name == _CACHE:
                parts = urlsplit(text)
                found += [parts.password or "", unquote(parts.password or ""), _basic(text) or ""]
                found += [value for _, value in parse_qsl(parts.query)]
        return tuple(dict.fromkeys(text for text in found if len(text) >= 4))

    def sent_headers(self, provider: str) -> dict[str, str]:
        """Extra headers as they are sent, with every ``${NAME}`` filled in; never log or store them.

        Raises:
            ConfigError: A header names an environment variable that is not set.
        """
        out: dict[str, str] = {}
        basic = _basic(self._secret(_URL_OF + provider))
        if basic:
            out["Authorization"] = f"Basic {basic}"
        for header, value in self.provider(provider).headers.items():
            for name in _references(value):
                secret = self._secret(name)
                if secret is None:
                    raise ConfigError(
                        f"The header {header!r} of provider {provider!r} needs ${{{name}}}, which is not set."
                    )
                value = value.replace(f"${{{name}}}", secret)
            out[header] = value
        return out

    def sent_query(self, provider: str) -> dict[str, str]:
        """The query of the provider's base_url, as it is sent; never log or store it."""
        return dict(parse_qsl(urlsplit(self._secret(_URL_OF + provider) or "").query, keep_blank_values=True))

    def cache_url(self) -> str | None:
        """The shared cache's address with all that is needed to connect, or None; never log or store it."""
        if not isinstance(self.cache, str):
            return None
        kept = self._secret(_CACHE)
        return kept if kept is not None and _shown_cache(kept) == self.cache else self.cache

    def _secret(self, name: str) -> str | None:
        secret = self.keys.get(name)
        return secret.get_secret_value() if secret else None

    @model_validator(mode="before")
    @classmethod
    def _hide_urls(cls, values: Any) -> Any:
        """Move user, password and query of the cache's address and of each base_url out of sight."""
        if not isinstance(values, dict):
            return values
        if isinstance(values.get("cache"), str) and values["cache"].lower() not in _SWITCH:
            shown = _shown_cache(values["cache"])
            if shown != values["cache"]:
                values = {**values, "keys": {**(values.get("keys") or {}), _CACHE: SecretStr(values["cache"])}}
            values = {**values, "cache": shown}
        elif isinstance(values.get("cache"), str):
            values = {**values, "cache": _SWITCH[values["cache"].lower()]}
        if not isinstance(values.get("providers"), dict):
            return values
        providers, keys = dict(values["providers"]), dict(values.get("keys") or {})
        for name, given in providers.items():
            fields = given.model_dump() if isinstance(given, ProviderSettings) else given
            if isinstance(fields, dict) and isinstance(fields.get("headers"), dict):
                _no_literal_secret(name, fields["headers"])
            if isinstance(fields, dict) and isinstance(fields.get("base_url"), str):
                shown = _shown_url(fields["base_url"], name)
                if shown != fields["base_url"].rstrip("/"):
                    keys[_URL_OF + name] = SecretStr(fields["base_url"])
                providers[name] = {**fields, "base_url": shown}
        return {**values, "providers": providers, "keys": keys}

    @property
    def default_judge(self) -> str:
        """The judge that runs when none is named: the configured one, else the embedded model.

        A key in the environment never selects a paid judge by itself.
        """
        return self.judge or DEFAULT_LOCAL_JUDGE


_URL_OF = "base_url of "
_CACHE = "address of the cache"
_SWITCH = {"true": True, "false": False}
KEY_NAMES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_BASE_URLS = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
SETTING_VARIABLES = {
    "JUDGE_MODEL": "judge",
    "JUDGE_RUBRIC": "rubric",
    "JUDGE_SAMPLES": "samples",
    "JUDGE_CACHE": "cache",
    "JUDGE_CACHE_DIR": "cache_dir",
    "JUDGE_CERTIFICATES": "certificates",
    "JUDGE_CONCURRENCY": "concurrency",
    "JUDGE_MAX_USD": "max_usd",
    "JUDGE_MAX_USD_PER_DAY": "max_usd_per_day",
    "JUDGE_PRICE_FILE": "price_file",
}


def load_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Settings from flags over the environment over judge.toml over defaults.

    Args:
        flags: Field name to value; None values are left out. `base_url` is that of the chosen judge's provider.
        environment: The process's own when None.
        folder: Where judge.toml is looked for; the working folder when None.

    Raises:
        ConfigError: A file does not parse, a key is unknown or a value does not fit.
    """
    env = os.environ if environment is None else environment
    values: dict[str, Any] = {"cache_dir": _cache_home(env), "telemetry": _telemetry(env)}
    path = _file(env, folder)
    if path.exists():
        values |= _read(path)
    elif env.get("JUDGE_CONFIG"):
        raise ConfigError(f"JUDGE_CONFIG names {str(path)!r}, which does not exist.")
    values |= {field: env[name] for name, field in SETTING_VARIABLES.items() if env.get(name)}
    values |= {name: value for name, value in (flags or {}).items() if value is not None}
    base_url = values.pop("base_url", None)
    values["providers"] = _with_base_urls(values.get("providers", {}), env)
    if base_url is not None:
        values["providers"] = _with_base_url(values["providers"], base_url, values.get("judge"))
    values["keys"] = _keys(values["providers"], env)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0]) if error.errors()[0]["loc"] else ""
        raise _explain(error, _origin(field, flags or {}, env, path if path.exists() else None)) from None


def setting_sources(*, environment: Mapping[str, str] | None = None, folder: Path | None = None) -> dict[str, str]:
    """Where each setting that is no default comes from: a variable of the environment, or the path of the file."""
    env = os.environ if environment is None else environment
    path = _file(env, folder)
    urls = ", ".join(name for name in _BASE_URLS.values() if env.get(name))
    found = {"telemetry": "OTEL_EXPORTER_OTLP_*"} if _telemetry(env) else {}
    found |= {"providers": urls} if urls else {}
    found |= dict.fromkeys(_read(path), str(path)) if path.exists() else {}
    return found | {field: name for name, field in SETTING_VARIABLES.items() if env.get(name)}


def _file(env: Mapping[str, str], folder: Path | None) -> Path:
    return Path(env["JUDGE_CONFIG"]) if env.get("JUDGE_CONFIG") else (folder or Path.cwd()) / "judge.toml"


def _origin(field: str, flags: Mapping[str, Any], env: Mapping[str, str], path: Path | None) -> str:
    """Where the value of a field came from, as words behind its name; nothing for a flag."""
    if flags.get(field) is not None:
        return ""
    for name, of in SETTING_VARIABLES.items():
        if of == field and env.get(name):
            return f" in {name}"
    return f" in {path}" if path else ""


_EXPORTERS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def _telemetry(env: Mapping[str, str]) -> bool:
    """Whether an OpenTelemetry exporter is configured in the standard variables, and not switched off."""
    return any(env.get(name) for name in _EXPORTERS) and env.get("OTEL_SDK_DISABLED", "").lower() != "true"


def _cache_home(env: Mapping[str, str]) -> Path:
    if os.name == "nt" and env.get("LOCALAPPDATA"):
        return Path(env["LOCALAPPDATA"]) / "judge"
    if env.get("XDG_CACHE_HOME"):
        return Path(env["XDG_CACHE_HOME"]) / "judge"
    return Path(env.get("HOME", str(Path.home()))) / ".cache" / "judge"


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None


def _with_base_urls(providers: Any, env: Mapping[str, str]) -> Any:
    if not isinstance(providers, dict):
        return providers
    out = dict(providers)
    for provider, name in _BASE_URLS.items():
        given = out.get(provider, {})
        if env.get(name) and isinstance(given, dict) and not given.get("base_url"):
            out[provider] = {**given, "base_url": env[name]}
    return out


def _with_base_url(providers: Any, base_url: str, judge: str | None) -> Any:
    provider, _, model = (judge or DEFAULT_LOCAL_JUDGE).partition("/")
    if provider not in ("openai", "anthropic", "litellm") or not model:
        raise ConfigError(
            f"A base_url was given, and the judge {judge or DEFAULT_LOCAL_JUDGE!r} calls no server.",
            hint="Name a judge such as openai/MODEL with --judge.",
        )
    if not isinstance(providers, dict) or not isinstance(providers.get(provider, {}), dict):
        return providers
    return {**providers, provider: {**providers.get(provider, {}), "base_url": base_url}}


def _keys(providers: Any, env: Mapping[str, str]) -> dict[str, str]:
    wanted = set(KEY_NAMES.values())
    if isinstance(providers, dict):
        for given in providers.values():
            if isinstance(given, dict):
                wanted.add(str(given.get("api_key_env") or ""))
                for value in (given.get("headers") or {}).values():
                    wanted |= set(_references(str(value)))
    return {name: env[name] for name in sorted(wanted) if name and env.get(name)}


def _references(text: str) -> list[str]:
    return re.findall(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", text)


def _no_literal_secret(provider: str, headers: Mapping[str, Any]) -> None:
    for header, value in headers.items():
        if re.search(r"auth|key|token|cookie|secret", str(header), re.IGNORECASE) and not _references(str(value)):
            raise ConfigError(
                f"The header {header!r} of provider {provider!r} holds a secret as text.",
                hint='Put the secret into an environment variable and write its name: "${NAME}".',
            )


def _shown_url(url: str, provider: str) -> str:
    """Scheme, host, port and path of a base_url; the errors never repeat the rest of it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigError(
            f"The base_url of provider {provider!r} is not a URL: its host or port cannot be read."
        ) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            f"The base_url of provider {provider!r} is not an http or https URL with a host.",
            hint='Write it like "http://127.0.0.1:8080/v1".',
        )
    return _address(parts.scheme, parts.hostname, port, parts.path)


def _shown_cache(url: str) -> str:
    """Scheme, host, port and database of a shared cache; the errors never repeat the rest of it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigError(
            "The address of the cache is not a URL: its host or port cannot be read.",
            hint="Characters such as / and # in a password are written as %2F and %23.",
        ) from None
    if parts.scheme == "unix" and parts.path:
        return f"unix://{parts.path}"
    if parts.scheme not in {"redis", "rediss"} or not parts.hostname:
        raise ConfigError(
            "The cache is neither true, nor false, nor the address of a server.",
            hint='Write it like "redis://HOST:6379/0", or "rediss://" for TLS. JUDGE_CACHE_DIR moves the folder.',
        )
    return _address(parts.scheme, parts.hostname, port, parts.path)


def _address(scheme: str, host: str, port: int | None, path: str) -> str:
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}{f':{port}' if port else ''}{path.rstrip('/')}"


def _basic(url: str | None) -> str | None:
    """The HTTP Basic credentials of a URL's user and password, or None."""
    parts = urlsplit(url or "")
    if not parts.username and not parts.password:
        return None
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return base64.b64encode(pair.encode()).decode()


def keep_litellm_offline(environment: MutableMapping[str, str] | None = None) -> None:
    """Set what litellm reads while it is imported, so that it fetches no price list from the network.

    What the user has set stays.
    """
    env = os.environ if environment is None else environment
    env.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    env.setdefault("LITELLM_OFFLINE_MODE", "true")
    env.setdefault("LITELLM_MODE", "PRODUCTION")  # no .env file of the working folder is loaded


def keep_ray_offline(environment: MutableMapping[str, str] | None = None) -> None:
    """Set what Ray reads when it starts, so that it reports nothing to its makers. What the user has set stays."""
    env = os.environ if environment is None else environment
    env.setdefault("RAY_USAGE_STATS_ENABLED", "0")


def _explain(error: ValidationError, origin: str) -> ConfigError:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        owner: type[Record] = Settings
        if where.startswith("providers."):
            owner = ProviderSettings
        elif where.startswith("models."):
            owner = ModelSettings
        leaf = str(first["loc"][-1])
        near = difflib.get_close_matches(leaf, owner.model_fields, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(owner.model_fields)}."
        return ConfigError(f"Unknown setting {where!r}{origin}.", hint=hint)
    found = "not shown" if re.search(r"key|header|url", where) else repr(first.get("input"))
    return ConfigError(f"Setting {where!r}{origin} is {found}: {first['msg']}.")
