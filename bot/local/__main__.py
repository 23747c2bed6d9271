"""The local Bot API server as a process: `python -m bot.local --port N --token T --record FILE`."""

import asyncio
import json
import signal
from pathlib import Path

import click

from bot.local.server import LocalServer


@click.command()
@click.option("--port", default=0, help="Port on loopback; 0 takes a free one.")
@click.option("--token", default="123456:local-token", show_default=True, help="The token the bot uses.")
@click.option(
    "--record", type=click.Path(path_type=Path), help="Append every call to this file (JSON lines)."
)
def main(port: int, token: str, record: Path | None) -> None:
    """Play Telegram for one bot; prints one line of JSON when it listens, ends on SIGTERM or SIGINT."""
    asyncio.run(serve(port, token, record))


async def serve(port: int, token: str, record: Path | None) -> None:
    """Serve until a signal comes."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with LocalServer(token, port=port, record=record) as server:
        urls = {"base_url": server.base_url, "base_file_url": server.base_file_url, "url": server.url}
        click.echo(json.dumps({"port": server.port} | urls))
        await ended.wait()


if __name__ == "__main__":
    main()
