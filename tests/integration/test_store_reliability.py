"""What the store must survive and must refuse: D4 to D13 of reliability.md 2, named one by one."""

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import Refused, StoreCorrupt, StoreNewer
from core.store import backup
from core.store.schema import MAIN, connect, migrations, prepare
from core.store.sqlite import RECOVERED, open_store
from tests.contract.test_store import a_vote
from tests.factories import NOW, a_lesson
from tests.fakes.store_writer import add

WRITER = [sys.executable, "-m", "tests.fakes.store_writer"]
ROOT = Path(__file__).parents[2]
DAY_S = 86_400.0


async def filled(path: Path, count: int = 30) -> None:
    """Write a store with lessons."""
    async with open_store(path) as store:
        for _ in range(count):
            await store.write(lambda tx: add(tx, "first"))


async def counted(path: Path, name: str = "shared") -> int:
    """Give a counter, and make sure that the file is whole."""
    async with open_store(path) as store:
        found = await store.read(lambda tx: tx.settings.get(name))
    backup.check(path)
    return int(found or 0)


# -- D4, D5, D6: power, disk --------------------------------------------------------------------------------


async def test_d4_what_was_acknowledged_survives_a_torn_tail(tmp_path: Path) -> None:
    """Commits are synced (FULL); whatever a power cut left of the write after them changes nothing."""
    live, cut = tmp_path / "live.db", tmp_path / "cut.db"
    source = random.Random(4)
    async with open_store(live) as store:
        for number in range(1, 21):
            await store.write(lambda tx: add(tx, "first"))
            shutil.copy(live, cut)
            synced = live.with_name("live.db-wal").read_bytes()
            torn = synced + source.randbytes(source.randrange(1, 9_000))
            cut.with_name("cut.db-wal").write_bytes(torn)
            assert await counted(cut) == number
            for each in tmp_path.glob("cut.db*"):
                each.unlink()


def test_d4_the_store_syncs_every_commit(tmp_path: Path) -> None:
    """FULL, in WAL mode, with the settings the guarantees rest on."""
    prepare(tmp_path / "store.db")
    with closing(connect(tmp_path / "store.db", is_writer=True)) as connection:
        found = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "journal_mode", "secure_delete", "foreign_keys", "mmap_size")
        }

    assert found == {
        "synchronous": 2,
        "journal_mode": "wal",
        "secure_delete": 1,
        "foreign_keys": 1,
        "mmap_size": 0,
    }


SMALL = """
import asyncio, resource, sys
from pathlib import Path
from core.errors import StoreError
from core.store.sqlite import open_store
from tests.fakes.store_writer import add

async def main(path, limit):
    done = 0
    async with open_store(path) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            for _ in range(500):
                done = await store.write(lambda tx: add(tx, "first"))
        except StoreError as error:
            print("refused", error.key, flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(done, await store.read(lambda tx: tx.settings.get("first")))
        print(await store.write(lambda tx: add(tx, "first")))

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


@pytest.mark.parametrize("limit", [300_000, 333_333, 500_001, 777_216])
def test_d5_a_write_that_fails_is_never_acknowledged(tmp_path: Path, limit: int) -> None:
    """The n-th write fails, for several n: what was told is there, the rest is not, and it goes on after."""
    argv = [sys.executable, "-c", SMALL, str(tmp_path / "store.db"), str(limit)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=True).stdout.split()

    assert done[0] == "refused"
    assert done[2] == done[3]
    assert int(done[4]) == int(done[3]) + 1
    assert asyncio.run(counted(tmp_path / "store.db")) == int(done[4])


FULL = """
import asyncio, sys
from pathlib import Path
from core.errors import StoreFull
from core.store.sqlite import open_store
from tests.fakes.store_writer import add

async def main(home):
    ballast = home / "ballast"
    ballast.write_bytes(bytes(200_000))
    done = 0
    async with open_store(home / "store.db") as store:
        try:
            for _ in range(5000):
                done = await store.write(lambda tx: add(tx, "first"))
        except StoreFull as error:
            print("full", error.key, flush=True)
        print(done, await store.read(lambda tx: tx.settings.get("first")))
        ballast.unlink()
        print(await store.write(lambda tx: add(tx, "first")))

asyncio.run(main(Path(sys.argv[1])))
"""


def test_d6_a_full_disk_is_said_and_room_mends_it(tmp_path: Path) -> None:
    """A file system of 3 MB where this system lets us mount one, else files that may not grow."""
    script = 'mount -t tmpfs -o size=3m none "$1" && exec "$2" -c "$3" "$1"'
    mount = ["unshare", "-rm", "sh", "-c", script, "-"]
    folder = tmp_path / "small"
    folder.mkdir()
    try:
        done = subprocess.run(
            [*mount, str(folder), sys.executable, FULL], capture_output=True, text=True, cwd=ROOT, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        test_d5_a_write_that_fails_is_never_acknowledged(folder, 400_000)
        return
    said = done.stdout.split()

    assert said[:2] == ["full", "store.full"]
    assert said[2] == said[3]
    assert int(said[4]) == int(said[3]) + 1


# -- D7: read-only ------------------------------------------------------------------------------------------


@pytest.fixture
def shut() -> Iterator[Path]:
    """A folder with a store that its reader may not write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(filled(folder / "store.db", 3))
        (folder / "store.db").chmod(0o444)
        (folder / "store.db.lock").chmod(0o666)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_d7_a_read_only_store_is_one_clear_line(shut: Path) -> None:
    """Exit code 1, no traceback, no loop."""
    code = "import sys; from bot.__main__ import main; sys.argv[1:] = ['lessons']; sys.exit(main())"
    person = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(shut)}
    # Root may write anything, unless it lays that right down.
    plain = (
        ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.geteuid() == 0 else []
    )

    done = subprocess.run(
        [*plain, sys.executable, "-B", "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=person | {"AUTO_IMPROVE_HOME": str(shut)},
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "store.db cannot be written" in done.stderr


# -- D8: damage ---------------------------------------------------------------------------------------------


def a_header(path: Path) -> None:
    """Write nonsense over the beginning."""
    with path.open("r+b") as file:
        file.write(b"\x00garbage" * 4)


def a_page(path: Path) -> None:
    """Write nonsense over whole pages."""
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4096, 2):
            file.seek(page * 4096)
            file.write(random.Random(page).randbytes(4096))


def half(path: Path) -> None:
    """Cut the file in half."""
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def nothing(path: Path) -> None:
    """Leave a file of length zero, which SQLite would open as an empty database."""
    os.truncate(path, 0)


DAMAGE = [a_header, a_page, half, nothing]


def damage(path: Path, how: Callable[[Path], None]) -> None:
    """Spoil a closed store."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    how(path)


@pytest.mark.parametrize("how", DAMAGE)
async def test_d8_a_damaged_store_gives_way_to_the_newest_verified_backup(
    tmp_path: Path, how: Callable[[Path], None]
) -> None:
    """It is kept beside; an older backup serves where the newest is spoiled too; the owner is told."""
    path, folder = tmp_path / "store.db", tmp_path / "backups"
    await filled(path, 20)
    backup.daily(path, folder, NOW)
    newest = backup.daily(path, folder, NOW + DAY_S)
    assert newest is not None
    a_page(newest)
    damage(path, how)

    async with open_store(path, is_checked=True) as store:
        told = await store.read(lambda tx: (tx.settings.get(RECOVERED), tx.settings.get("shared")))
        log = await store.read(lambda tx: [each for each in tx.runs.activities(0) if each.verb == "recover"])

    assert told[1] == "20" and told[0] is not None and "damaged-1" in told[0]
    assert (tmp_path / "store.db.damaged-1").exists()
    assert [each.subject for each in log] == [sorted(folder.glob("*.db"))[0].name]


@pytest.mark.parametrize("how", DAMAGE)
async def test_d8_without_a_backup_nothing_starts_empty(tmp_path: Path, how: Callable[[Path], None]) -> None:
    """The damaged file is left exactly as it was."""
    path = tmp_path / "store.db"
    await filled(path, 20)
    damage(path, how)
    before = path.read_bytes()

    with pytest.raises(StoreCorrupt):
        async with open_store(path, is_checked=True):
            raise AssertionError

    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*damaged*"))


async def test_d8_one_flipped_byte_is_seen_by_the_daily_look(tmp_path: Path) -> None:
    """Quick checks may miss it; the check before each backup does not, and a checksum guards the backups."""
    path, folder = tmp_path / "store.db", tmp_path / "backups"
    await filled(path, 40)
    copy = backup.back_up(path, folder / "store-20300101.db")
    with closing(sqlite3.connect(path)) as connection:
        [(place,)] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'lesson_folded'")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for file, at in ((path, place * 4096 - 20), (copy, copy.stat().st_size - 700)):
        with file.open("r+b") as opened:
            opened.seek(at)
            byte = opened.read(1)
            opened.seek(at)
            opened.write(bytes([byte[0] ^ 1]))

    backup.check(path, is_quick=True)
    with pytest.raises(StoreCorrupt):
        backup.daily(path, folder, NOW)
    with pytest.raises(StoreCorrupt):
        backup.verify(copy)


# -- D9: backups --------------------------------------------------------------------------------------------


async def test_d9_a_backup_has_what_a_copy_of_the_file_loses(tmp_path: Path) -> None:
    """The newest commits are in the -wal."""
    path = tmp_path / "store.db"
    async with open_store(path) as store:
        for _ in range(12):
            await store.write(lambda tx: add(tx, "first"))
        copied = shutil.copy(path, tmp_path / "copied.db")
        backup.back_up(path, tmp_path / "backup.db")

    assert await counted(tmp_path / "backup.db") == 12
    assert await counted(Path(copied)) < 12


async def test_d9_a_backup_can_be_put_back_and_the_store_is_kept(tmp_path: Path) -> None:
    """`restore FILE`; refused while another process has the store open."""
    path, copy = tmp_path / "store.db", tmp_path / "backup.db"
    await filled(path, 3)
    backup.back_up(path, copy)
    await filled(path, 2)
    async with open_store(path):
        with pytest.raises(Refused):
            backup.restore(copy, path)

    aside = backup.restore(copy, path)

    assert aside is not None
    assert (await counted(path), await counted(aside)) == (3, 5)


async def test_d9_seven_days_are_kept(tmp_path: Path) -> None:
    """One a day, with its checksum."""
    await filled(tmp_path / "store.db", 1)
    made = [backup.daily(tmp_path / "store.db", tmp_path / "b", NOW + day * DAY_S) for day in range(9)]

    assert backup.daily(tmp_path / "store.db", tmp_path / "b", NOW + 8 * DAY_S + 60) is None
    assert sorted((tmp_path / "b").glob("*.db")) == sorted(each for each in made if each)[-7:]
    assert len(list((tmp_path / "b").iterdir())) == 14


# -- D10, D11 -----------------------------------------------------------------------------------------------


async def test_d10_a_long_reader_does_not_let_the_wal_grow_for_ever(tmp_path: Path) -> None:
    """While it reads nothing can be checkpointed; once it ends the file is used from its beginning again."""
    path = tmp_path / "store.db"
    wal = path.with_name("store.db-wal")
    await filled(path, 1)
    async with open_store(path) as store:
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM lesson").fetchone()
            for _ in range(150):
                await store.write(lambda tx: add(tx, "first"))
        held = wal.stat().st_size
        for _ in range(300):
            await store.write(lambda tx: add(tx, "first"))
        later = wal.stat().st_size

    assert later < held + 5_000_000
    assert await counted(path) == 451


async def test_d11_order_is_by_sequence_not_by_clock(tmp_path: Path) -> None:
    """A clock set back a day, or one beyond 2038, changes no order."""
    times = ("2038-01-19T03:14:08.000Z", "2026-03-29T01:59:59.000Z", "2026-03-28T02:00:00.000Z")
    async with open_store(tmp_path / "store.db") as store:
        for number, each in enumerate(times):
            vote = replace(a_vote(f"f-{number}", f"r-{number}"), timestamp=each)
            await store.write(lambda tx, vote=vote: tx.feedback.add(vote))  # type: ignore[misc]
        made = [await store.write(lambda tx: a_lesson(tx, f"Rule of {time.time_ns()}")) for _ in times]
        votes = await store.read(lambda tx: tx.feedback.newest(9))

    assert [each.timestamp for each in votes] == list(reversed(times))
    assert [each.decided for each in made] == [1, 2, 3]


# -- D12: many processes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
async def test_d12_two_processes_one_killed_at_random_lose_no_update(tmp_path: Path, seed: int) -> None:
    """400 writes each; whoever was told of a write finds it, and no record is torn."""
    path = tmp_path / "store.db"
    await filled(path, 1)
    argv = [[*WRITER, str(path), name, "400"] for name in ("kept", "killed")]
    kept, killed = [
        await asyncio.create_subprocess_exec(*each, stdout=asyncio.subprocess.PIPE, cwd=ROOT) for each in argv
    ]
    assert killed.stdout is not None
    target, told = random.Random(seed).randrange(20, 300), 0
    while told < target:
        told = int(await killed.stdout.readline())
    killed.send_signal(signal.SIGKILL)
    rest, _ = await killed.communicate()
    told = int((rest.split() or [str(told).encode()])[-1])
    await kept.communicate()

    async with open_store(path) as store:
        counts = await store.read(lambda tx: [tx.settings.get(each) for each in ("kept", "killed")])
        made = await store.read(lambda tx: tx.lessons.all())
    own = dict(zip(("kept", "killed"), map(int, filter(None, counts)), strict=True))
    assert own["kept"] == 400
    assert told <= own["killed"] <= told + 1
    assert await counted(path) == 1 + sum(own.values()) == len(made)
    assert all(each.rule.startswith("Rule ") for each in made)


async def test_d12_sixteen_writers_count_exactly_and_none_starves(tmp_path: Path) -> None:
    """16 × 125 increments; how long the longest waits is measured by tests/bench/bench_lessons.py."""
    path = tmp_path / "store.db"
    waits: list[float] = []

    async def write(name: str) -> None:
        async with open_store(path) as store:
            for _ in range(125):
                begun = time.perf_counter()
                await store.write(lambda tx: _count(tx, name))
                waits.append(time.perf_counter() - begun)

    await asyncio.gather(*(write(f"writer {number}") for number in range(16)))

    assert await counted(path) == 2_000
    assert max(waits) < 5


def _count(tx: object, name: str) -> None:
    settings = tx.settings  # type: ignore[attr-defined]
    for each in (name, "shared"):
        settings.put(each, str(int(settings.get(each) or 0) + 1))


# -- D13: migrations ----------------------------------------------------------------------------------------


def an_old_store(path: Path, count: int) -> None:
    """Write a store of the first version with lessons in it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id={MAIN.application_id}")
        connection.executescript(f"BEGIN;\n{migrations()[0]}\nPRAGMA user_version=1;\nCOMMIT;")
        connection.execute("BEGIN")
        for number in range(1, count + 1):
            connection.execute(
                "INSERT INTO lesson VALUES (?, ?, '2026-01-01T00:00:00Z', 'debug', ?, '', '[]', 0, 0, 1,"
                " 'global', NULL, ?, 1, '2026-01-01T00:00:00Z', NULL)",
                (f"l-{number:03d}", number, f"Règle numéro {number}", number),
            )
        connection.execute("INSERT INTO sequence VALUES ('lesson', ?), ('decision', ?)", (count, count))
        connection.execute("COMMIT")


async def test_d13_an_old_store_is_migrated_with_what_is_in_it(tmp_path: Path) -> None:
    """Searchable and folded at once, and a backup of before is kept."""
    path = tmp_path / "store.db"
    an_old_store(path, 30)

    async with open_store(path) as store:
        near = await store.read(lambda tx: tx.lessons.nearest("regle 7", None, 1))
        same = await store.read(lambda tx: tx.lessons.saying("regle numero 7"))
        made = await store.write(lambda tx: a_lesson(tx, "x"))

    assert [near[0][0].id, same[0].id, made.id] == ["l-007", "l-007", "l-031"]
    with closing(sqlite3.connect(tmp_path / f"store.before-{len(migrations())}.db")) as before:
        assert before.execute("PRAGMA user_version").fetchone()[0] == 1


MIGRATION = """
import sys
from pathlib import Path
from core.store.schema import prepare
print("go", flush=True)
prepare(Path(sys.argv[1]))
"""


def test_d13_a_kill_in_the_middle_of_a_migration_loses_nothing(tmp_path: Path) -> None:
    """At random moments: the next start finds the old or the new version, whole."""
    source = random.Random(13)
    for round in range(4):
        path = tmp_path / f"{round}.db"
        an_old_store(path, 500)
        argv = [sys.executable, "-c", MIGRATION, str(path)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=ROOT) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(source.uniform(0, 0.25))
            child.kill()
        prepare(path)
        backup.check(path)
        with closing(sqlite3.connect(path)) as connection:
            for table in ("lesson", "lesson_terms"):
                assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (500,)


async def test_d13_a_newer_store_is_refused(tmp_path: Path) -> None:
    """It is not touched."""
    path = tmp_path / "store.db"
    await filled(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=999")

    with pytest.raises(StoreNewer):
        async with open_store(path):
            raise AssertionError
