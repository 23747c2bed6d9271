"""What can be set (product.md 5): environment, then `.env` of the working directory, then `HOME/.env`."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, TypeVar, Union, get_args, get_origin

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from core.errors import SettingsError

PREFIX = "AUTO_IMPROVE_"
DEFAULT_HOME = "~/.auto-improve"

Count = Annotated[int, Field(ge=1, le=100_000)]
Days = Annotated[int, Field(ge=1, le=36_500)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
Words = tuple[str, ...]
Paths = tuple[Path, ...]


class CoreSettings(BaseModel):
    """What `core` can be told; the bot's settings extend it.

    pydantic checks; the sources are read here: importing pydantic-settings takes 0.03 s, and every command
    waits for it.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, validate_default=True)

    home: Path = Field(Path(DEFAULT_HOME), description="folder of store, context files, spool, mirror, logs")
    project: Path | None = Field(None, description="folder the agent works in; default: working directory")
    project_roots: Paths = Field((), description="folders /project may go to, comma-separated")
    agent: str = Field(
        "pi", pattern=r"^[A-Za-z0-9][\w.-]*$", description="pi, scripted or a registered agent"
    )
    pi_command: Words = Field(("pi",), description="command line that starts Pi, split as a shell would")
    agent_env: Words = Field((), description="further variables the agent may see, comma-separated names")
    trust_project: Literal["ask", "on", "off"] = Field(
        "ask", description="whether Pi loads a project's .pi folder: ask in the chat, on, off"
    )
    language: Literal["auto", "en", "fr"] = Field(
        "auto", description="language of the chat: auto (the sender's), en, fr"
    )
    analyst: Literal["agent", "model", "rules"] = Field(
        "agent", description="who analyses a 👎: agent, model or rules"
    )
    analyst_model: str | None = Field(None, description="model of the analyst, where it is `model`")
    analysis_delay_s: Seconds = Field(20, description="wait for a reason before the analysis; 0: at once")
    analysis_timeout_s: Seconds = Field(120, description="an analysis that takes longer is given up")
    min_failures: Count = Field(2, description="failures before a pattern becomes a candidate")
    min_failure_ratio: float = Field(0.3, ge=0, le=1, description="share of failures that makes a candidate")
    min_runs: Count = Field(2, description="sessions a pattern must be seen in; 1: pi-evolver's behaviour")
    max_injected: Count = Field(12, description="patterns in the block")
    max_injected_chars: Count = Field(2400, description="characters of patterns in the block")
    max_lesson_chars: Count = Field(6000, description="characters of lessons in the block")
    trace_retention_days: Days = Field(30, description="days that traces are kept")
    learning_retention_days: Days = Field(90, description="days that undecided patterns are kept")
    min_failures_for_skill: Count = Field(3, description="failures before a skill is offered")
    min_events_for_skill: Count = Field(5, description="events before a skill is offered")
    skills_subdir: str = Field(
        "skills", pattern=r"^[\w.-]*\w[\w.-]*$", description="folder of skills, in HOME"
    )
    max_skill_body_chars: Count = Field(2000, description="characters of a skill's body")
    candidates: bool = Field(True, description="show unaccepted candidates to agents the bot hosts, tagged")
    mirror: bool = Field(True, description="write the exchange files to HOME/mirror; edits become proposals")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="how much is logged")
    debug: Path | None = Field(None, description="file that gets each trace, mine, inject and promote step")

    @field_validator("home", "project", "debug")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return path and path.expanduser().absolute()

    @field_validator("project_roots", mode="before")
    @classmethod
    def _split_paths(cls, value: object) -> object:
        return tuple(Path(part).expanduser().absolute() for part in split(value))

    @field_validator("pi_command", mode="before")
    @classmethod
    def _split_command(cls, value: object) -> object:
        return tuple(shlex.split(value)) if isinstance(value, str) else value

    @field_validator("agent_env", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        names = tuple(split(value))
        for name in names:
            # Our own variables carry the bot's secrets: they never reach an agent (product.md 5).
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.startswith(PREFIX):
                raise ValueError(name)
        return names

    @property
    def store_path(self) -> Path:
        """Give the file of the store."""
        return self.home / "store.db"

    @property
    def traces_path(self) -> Path:
        """Give the file of the traces, which is less durable (reliability.md 2)."""
        return self.home / "traces.db"

    @property
    def context_folder(self) -> Path:
        """Give the folder of the ready-made context files (product.md 7)."""
        return self.home / "context"

    @property
    def mirror_folder(self) -> Path:
        """Give the folder of the exchange files that are kept up to date (learning.md 9)."""
        return self.home / "mirror"

    @property
    def backup_folder(self) -> Path:
        """Give the folder of the daily backups."""
        return self.home / "backups"


S = TypeVar("S", bound=CoreSettings)


def load(kind: type[S], folder: Path | None = None) -> S:
    """Read the settings; `folder` stands for the working directory. Raises SettingsError, one line."""
    local = (folder or Path.cwd()) / ".env"
    try:
        told = ours(kind, dotenv_values(local)) | ours(kind, os.environ)
        home = Path(told.get("home", DEFAULT_HOME)).expanduser()
        return kind.model_validate(ours(kind, dotenv_values(home / ".env")) | told)
    except ValidationError as error:
        raise _clear(kind, error) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError("settings.unreadable", file=local, reason=error) from None


def ours(kind: type[CoreSettings], source: Mapping[str, str | None]) -> dict[str, str]:
    """Give what a source says of the settings, by field: names in any case; an empty value is none."""
    fields = {PREFIX.lower() + name: name for name in kind.model_fields}
    named = ((fields.get(name.lower()), value) for name, value in source.items())
    return {field: value for field, value in named if field and value}


def beside_ours(home: Path) -> dict[str, str]:
    """Give the variables of `HOME/.env` that are none of ours: keys of model providers kept for the agent."""
    try:
        found = dotenv_values(home / ".env")
    except (OSError, UnicodeDecodeError):
        return {}  # `load` has said so
    return {name: value for name, value in found.items() if value and not name.startswith(PREFIX)}


def project_of(folder: Path) -> str:
    """Give the project of a folder: the real path of the nearest ancestor with `.git`, else its own."""
    real = folder.expanduser().resolve()
    return str(next((each for each in (real, *real.parents) if (each / ".git").exists()), real))


def split(value: object) -> Iterator[str]:
    """Split a comma-separated setting; anything else is taken as the sequence it is."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise ValueError(value)
    return (text for part in parts if (text := str(part).strip()))


def example(kind: type[CoreSettings]) -> str:
    """Write `.env.example`: every setting with its meaning and its default, commented out."""
    lines = ["# Settings of auto-improve, generated from the code: deploy/env_example.py --write", ""]
    for name, field in kind.model_fields.items():
        lines += [f"# {field.description}", f"# {PREFIX}{name.upper()}={shown(field)}", ""]
    return "\n".join(lines)


def home_folder(folder: Path) -> Path:
    """Give HOME, as the environment or the `.env` of that folder sets it."""
    name = PREFIX + "HOME"
    return Path(os.environ.get(name) or dotenv_values(folder / ".env").get(name) or DEFAULT_HOME).expanduser()


def shown(field: FieldInfo) -> str:
    """Write a default as it stands in a `.env` file."""
    value = field.default
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def _clear(kind: type[CoreSettings], error: ValidationError) -> SettingsError:
    """Say the first fault by the name people set; a secret's value is not shown."""
    fault = error.errors()[0]
    field = str(fault["loc"][0]).lower().removeprefix(PREFIX.lower())
    is_secret = any(word in field for word in ("token", "secret"))
    told = {"name": PREFIX + field.upper(), "value": "…" if is_secret else fault["input"]}
    limits = {name: fault.get("ctx", {}).get(name) for name in ("ge", "le")}
    match fault["type"]:
        case "literal_error":
            choices = ", ".join(map(str, _choices(kind.model_fields[field].annotation)))
            return SettingsError("settings.not_one_of", **told, choices=choices)
        case "greater_than_equal":
            return SettingsError("settings.too_small", **told, least=limits["ge"])
        case "less_than_equal":
            return SettingsError("settings.too_large", **told, most=limits["le"])
        case "int_parsing" | "int_from_float" | "float_parsing":
            return SettingsError("settings.no_number", **told)
        case "bool_parsing":
            return SettingsError("settings.not_one_of", **told, choices="on, off")
        case "missing":
            return SettingsError("settings.missing", name=told["name"])
    return SettingsError("settings.wrong", **told)


def _choices(annotation: object) -> tuple[object, ...]:
    if get_origin(annotation) in (Union, UnionType):
        return tuple(choice for part in get_args(annotation) for choice in _choices(part))
    return get_args(annotation) if get_origin(annotation) is Literal else ()
