"""Content of messages and tool results: text, structured values, media by reference, and what is unknown, kept."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Any, Literal, NamedTuple

from judge.importers.decoding import Note
from judge.importers.fields import mapping, string
from judge.types.trajectory import Json, Media, Part, Refusal, Text, Unknown

Kind = Literal["image", "audio", "video", "document"]

TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_MEDIA_TYPES: dict[str, Kind] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "file": "document",
    "input_file": "document",
    "document": "document",
}
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_DATA_URL = re.compile(r"data:(?P<type>[^;,]*)(?:;[^;,]*)*;base64,", re.IGNORECASE)


class Content(NamedTuple):
    """Decoded content.

    Attributes:
        extra: Keys of parts that our parts have no field for, by position.
    """

    parts: tuple[Part, ...] = ()
    extra: dict[str, Any] = {}
    notes: tuple[Note, ...] = ()


def read_content(value: Any) -> Content:
    """Content from text, a part, a list of parts and bare strings, or any JSON value. Null is no part at all."""
    if value is None:
        return Content()
    if isinstance(value, str):
        return Content((Text(text=value),))
    if isinstance(value, list):
        parts: list[Part] = []
        extra: dict[str, Any] = {}
        notes: list[Note] = []
        for at, item in enumerate(value):
            part, left, note = _part(item)
            parts.append(part)
            if left:
                extra[str(at)] = left
            if note:
                notes.append(note)
        return Content(tuple(parts), extra, tuple(notes))
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        part, left, note = _part(value)
        return Content((part,), {"0": left} if left else {}, (note,) if note else ())
    return Content((Json(value=value),))


def plain_text(parts: tuple[Part, ...]) -> str | None:
    """The text of the text parts, joined by newlines; None where there is no text."""
    lines = [part.text for part in parts if isinstance(part, Text | Refusal)]
    text = "\n".join(lines)
    return text or None


def _part(item: Any) -> tuple[Part, dict[str, Any], Note | None]:
    if isinstance(item, str):
        return Text(text=item), {}, None
    if not isinstance(item, dict):
        return Json(value=item), {}, None
    kind = item.get("type")
    if isinstance(kind, list | dict):
        kind = repr(kind)
    if kind in TEXT_TYPES or (kind is None and isinstance(item.get("text"), str)):
        for key in ("text", "content"):
            if isinstance(item.get(key), str):
                left = {k: v for k, v in item.items() if k not in ("type", key) and v not in (None, [], {})}
                return Text(text=item[key]), left, None
    if kind == "refusal" and isinstance(item.get("refusal", item.get("text")), str):
        return Refusal(text=item.get("refusal", item.get("text"))), {}, None
    if isinstance(kind, str) and kind in _MEDIA_TYPES:
        media, note = _media(_MEDIA_TYPES[kind], item)
        if media is not None:
            return media, {}, note
        return Unknown(original_type=kind, raw=item), {}, note
    if kind == "json" and "value" in item:
        return Json(value=item["value"]), {}, None
    original = kind if isinstance(kind, str) else None
    note = Note("UNKNOWN_PART", f"a content part of type {original!r} is not known and was kept whole")
    return Unknown(original_type=original, raw=item), {}, note


def _media(kind: Kind, item: dict[str, Any]) -> tuple[Media | None, Note | None]:
    """A reference to media in the shapes of OpenAI, Anthropic and ATIF, or None with the reason."""
    inner = item.get(str(item.get("type")), item)
    source = mapping(item.get("source")) or mapping(inner) or item
    declared = string(source.get("media_type")) or string(source.get("mime_type")) or string(item.get("media_type"))
    if source.get("type") == "text" and isinstance(source.get("data"), str):
        return _bytes_of(kind, declared or "text/plain", source["data"].encode("utf-8", "replace")), None
    address = next(
        (
            text
            for text in (inner, source.get("url"), source.get("path"), source.get("file_id"), source.get("uri"))
            if isinstance(text, str) and text
        ),
        None,
    )
    encoded = next((source[key] for key in ("data", "file_data", "base64") if isinstance(source.get(key), str)), None)
    if encoded is None and address is not None and address[:5].lower() == "data:":
        encoded, address = address, None
    if encoded is not None:
        found = _DATA_URL.match(encoded)
        if found:
            declared, encoded = found["type"] or declared, encoded[found.end() :]
        data = _from_base64(encoded)
        if data is None:
            return None, Note("BAD_BASE64", f"the data of a part of type {item.get('type')!r} is not base64")
        return _bytes_of(kind, declared or _declared_format(kind, source), data), None
    if address is not None:
        return Media(type=kind, media_type=declared, uri=address), None
    return None, Note("UNKNOWN_PART", f"a part of type {item.get('type')!r} has neither data nor address")


def _declared_format(kind: Kind, source: dict[str, Any]) -> str | None:
    name = string(source.get("format"))
    return f"{kind}/{name}" if name and kind != "document" else None


def _bytes_of(kind: Kind, declared: str | None, data: bytes) -> Media:
    sniffed = next((name for magic, name in _MAGIC if data.startswith(magic)), None)
    if sniffed is None and data[:4] == b"RIFF":
        sniffed = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12])
    return Media(
        type=kind,
        media_type=sniffed or declared,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
    )


def _from_base64(text: str) -> bytes | None:
    """Bytes from base64 of either alphabet, with or without padding and line breaks; None for all else."""
    compact = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
