"""The edge to the shell: exit codes, one clear line on stderr, never a traceback (product.md 3)."""

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from core.cli.speech import is_text, language, tell
from core.errors import AutoImproveError
from core.texts import say_error

DONE, FAILED, WRONG_USAGE = 0, 1, 2

# Known by name: older releases of click 8 raise a plain UsageError, or print the help, instead.
NO_ARGUMENTS, NO_COMMAND = "NoArgsIsHelpError", "NoSuchCommand"


def run(group: click.Command, argv: Sequence[str]) -> int:
    """Run the command line; give its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    if not all(map(is_text, argv)):
        return complain(tell("usage.no_text"), WRONG_USAGE)
    try:
        code = group.main(list(argv), prog_name="auto-improve", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return complain(tell("interrupted"), FAILED)
    except click.ClickException as error:
        if type(error).__name__ == NO_ARGUMENTS and isinstance(error, click.UsageError) and error.ctx:
            click.echo(error.ctx.get_help())
            return DONE
        return complain(usage(error), error.exit_code)
    except AutoImproveError as error:
        return complain(say_error(error, language()), error.exit_code)
    except BrokenPipeError:
        # Whoever read our output has seen enough; without this Python complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:  # noqa: BLE001  # the border to the shell: a person gets a line, no traceback
        return complain(
            tell("unexpected", error=type(error).__name__, text=error, place=_place(error)), FAILED
        )
    return code if isinstance(code, int) else DONE


def complain(line: str, code: int) -> int:
    """Write one line on stderr; give the exit code."""
    click.echo(" ".join(line.split()), err=True)
    return code


def usage(error: click.ClickException) -> str:
    """Say what is wrong with a command line, and where its help is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "auto-improve"
    return f"{_fault(error).rstrip('.')}. {tell('usage.help', command=path)}"


def _fault(error: click.ClickException) -> str:
    match error:
        case click.UsageError() if type(error).__name__ == NO_COMMAND:
            return tell("usage.no_command", name=getattr(error, "command_name", ""))
        case click.NoSuchOption():
            return tell("usage.no_option", name=error.option_name)
        case click.MissingParameter():
            name = (
                error.param.make_metavar(error.ctx or click.Context(click.Command(""))) if error.param else ""
            )
            return tell("usage.missing", name=name)
        case click.BadParameter() if isinstance(error.param and error.param.type, click.Choice):
            return tell("usage.no_choice", name=_name(error), choices=_choices(error))
        case click.BadParameter():
            return tell("usage.bad_value", name=_name(error), text=error.message)
    return error.format_message()


def _name(error: click.BadParameter) -> str:
    return "/".join(error.param.opts) if error.param else str(error.param_hint or "")


def _choices(error: click.BadParameter) -> str:
    kind = error.param.type if error.param else None
    return ", ".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else ""


def _place(error: BaseException) -> str:
    """Give file and line where it happened, for whoever reports it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
