"""The embedded Postgres, started for real. As root every test runs below pytest's folders, which are 0700."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ricordo_server import embedded
from ricordo_server.embedded import EmbeddedPostgres, EmbeddedPostgresError, programs


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose server has run and ended: a copy of it saves the second of initdb."""
    folder = tmp_path_factory.mktemp("template") / "pg"
    embedded.stop(embedded.start(folder))
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Iterator[Path]:
    subprocess.run(["cp", "-a", template, tmp_path / "pg"], check=True)
    yield tmp_path / "pg"
    end_server(tmp_path / "pg")


@pytest.fixture(scope="module")
def shared(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    folder = tmp_path_factory.mktemp("shared") / "pg"
    subprocess.run(["cp", "-a", template, folder], check=True)
    with embedded.running(folder) as server:
        yield server


@pytest.fixture
def new_folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "new"
    end_server(tmp_path / "new")


def end_server(folder: Path) -> None:
    """What a failed test left running: a shutdown by another road than the one under test."""
    pid_file = folder / "data" / "postmaster.pid"
    if pid_file.exists():
        subprocess.run(["kill", "-QUIT", pid_file.read_text().split()[0]], check=False, capture_output=True)


def ask(server: EmbeddedPostgres, statement: str) -> Any:
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie that nobody has reaped yet does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True)
    return state.stdout.strip()[:1] not in ("", "Z")


def run_elsewhere(folder: Path, program: str) -> subprocess.Popen[bytes]:
    """A process of its own that uses the launcher on the folder."""
    prelude = (
        f"from pathlib import Path\nfrom ricordo_server.embedded import *\nfolder = Path({str(folder)!r})\n"
    )
    command = [sys.executable, "-c", prelude + program]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def test_a_cold_start_gives_a_server_with_vector_scram_and_checksums(new_folder: Path) -> None:
    with embedded.running(new_folder) as server:
        ask(server, "CREATE EXTENSION vector")
        assert ask(server, "SELECT '[1,2]'::vector <-> '[1,4]'::vector") == 2
        assert ask(server, "SHOW data_checksums") == "on"
        assert (
            ask(server, "SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules")
            == "scram-sha-256"
        )
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url("postgres", "a guess"))


def test_the_folder_and_its_password_are_private(new_folder: Path) -> None:
    with embedded.running(new_folder):
        assert new_folder.stat().st_mode & 0o777 == 0o700
        assert (new_folder / "superuser.password").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "word"), [("ÇÃO", "ção"), ("ΩMEGA", "ωmega"), ("ЖУК", "жук"), ("“quoted”—dash", "quoted")]
)
def test_text_search_knows_the_letters_of_unicode(shared: EmbeddedPostgres, text: str, word: str) -> None:
    assert ask(shared, f"SELECT to_tsvector('simple', '{text}') @@ '{word}'::tsquery") is True


def test_lower_knows_the_letters_of_unicode(shared: EmbeddedPostgres) -> None:
    assert ask(shared, "SELECT lower('ÇÃO ΩMEGA ЖУК')") == "ção ωmega жук"


def test_it_listens_on_loopback_alone(shared: EmbeddedPostgres) -> None:
    assert ask(shared, "SHOW listen_addresses") == "127.0.0.1"
    assert ask(shared, "SHOW unix_socket_directories") == ""


def test_the_terminal_does_not_reach_it(shared: EmbeddedPostgres) -> None:
    assert os.getsid(shared.pid) not in (os.getsid(0), 0)


def test_a_url_quotes_what_it_carries(shared: EmbeddedPostgres) -> None:
    ask(shared, """CREATE ROLE "a@b/c" LOGIN PASSWORD 'p:/?#%'""")
    with psycopg.connect(shared.url("a@b/c", "p:/?#%")) as connection:
        assert connection.info.user == "a@b/c"


def test_a_second_start_keeps_data_and_port(folder: Path) -> None:
    with embedded.running(folder) as first:
        ask(first, "CREATE TABLE kept AS SELECT 42 AS answer")
    with embedded.running(folder) as second:
        assert second.pid != first.pid
        assert second.port == first.port
        assert ask(second, "SELECT answer FROM kept") == 42


def test_another_port_is_taken_when_the_remembered_one_is_not_free(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        (folder / "port").write_text(str(taken))
        with embedded.running(folder) as server:
            assert server.port != taken


def test_a_taken_port_is_refused(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(EmbeddedPostgresError, match=f"Port {taken} is taken"):
            embedded.start(folder, port=taken)


def test_settings_replace_the_defaults(folder: Path) -> None:
    settings = {"max_connections": "17", "application_name": "two words and a 'quote'"}
    with embedded.running(folder, settings=settings) as server:
        assert ask(server, "SHOW max_connections") == "17"
        assert ask(server, "SHOW application_name") == settings["application_name"]


def test_a_start_that_fails_shows_the_log(folder: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match='unrecognized configuration parameter "no_such_thing"'):
        embedded.start(folder, settings={"no_such_thing": "1"})


def test_stopping_twice_is_no_error(folder: Path) -> None:
    server = embedded.start(folder)
    embedded.stop(server)
    embedded.stop(server)
    assert not is_alive(server.pid)


def test_stop_leaves_a_later_server_alone(folder: Path) -> None:
    earlier = embedded.start(folder)
    embedded.stop(earlier)
    with embedded.running(folder) as later:
        embedded.stop(earlier)
        assert ask(later, "SELECT 1") == 1


def test_the_server_of_a_killed_parent_is_adopted(folder: Path) -> None:
    program = "server = start(folder); import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    parent = run_elsewhere(folder, program)
    parent.communicate(timeout=20)
    assert parent.returncode == -signal.SIGKILL
    left = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    with embedded.running(folder) as server:
        assert server.pid == left
    assert not is_alive(left)


def test_a_copy_of_a_running_folder_gets_a_server_of_its_own(folder: Path, tmp_path: Path) -> None:
    with embedded.running(folder) as original:
        subprocess.run(["cp", "-a", folder, tmp_path / "copy"], check=True)
        with embedded.running(tmp_path / "copy") as copy:
            assert copy.pid != original.pid
            assert copy.port != original.port


def test_a_crashed_server_recovers_what_was_committed(folder: Path) -> None:
    crashed = embedded.start(folder)
    ask(crashed, "CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(crashed.pid, signal.SIGKILL)
    with embedded.running(folder) as server:
        assert server.pid != crashed.pid
        assert ask(server, "SELECT answer FROM kept") == 42


def test_a_stale_pid_file_with_a_living_pid_does_not_fool_it(folder: Path) -> None:
    with embedded.running(folder) as server:
        pid_file = (folder / "data" / "postmaster.pid").read_text()
    owner = (folder / "data").stat()
    identity: dict[str, Any] = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
    with subprocess.Popen(["sleep", "60"], **identity) as stranger:  # of the same user, as Postgres cares for
        (folder / "data" / "postmaster.pid").write_text(
            pid_file.replace(str(server.pid), str(stranger.pid), 1)
        )
        with embedded.running(folder) as again:
            assert again.pid != stranger.pid
        embedded.stop(EmbeddedPostgres(folder / "data", server.port, stranger.pid))
        assert stranger.poll() is None
        stranger.kill()


def test_a_wrong_password_file_is_told_at_once(folder: Path) -> None:
    server = embedded.start(folder)
    (folder / "superuser.password").write_text("wrong")
    with pytest.raises(EmbeddedPostgresError, match=r"superuser\.password"):
        embedded.start(folder)
    embedded.stop(server)


def test_concurrent_first_starts_end_with_one_server(new_folder: Path) -> None:
    processes = [run_elsewhere(new_folder, "print(start(folder).pid)") for _ in range(2)]
    with ThreadPoolExecutor() as threads:
        servers = [
            future.result() for future in [threads.submit(embedded.start, new_folder) for _ in range(2)]
        ]
    pids = {int(process.communicate()[0]) for process in processes} | {server.pid for server in servers}
    assert len(pids) == 1
    embedded.stop(servers[0])


def test_an_interrupted_first_start_is_begun_anew(new_folder: Path) -> None:
    (new_folder / "data.new" / "base").mkdir(parents=True)
    with embedded.running(new_folder) as server:
        assert ask(server, "SELECT 1") == 1


def test_the_last_of_several_blocks_stops_the_server(folder: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with embedded.running(folder):
            entered.set()
            leave.wait(20)

    with ThreadPoolExecutor() as threads:
        other = threads.submit(hold)
        entered.wait(20)
        with embedded.running(folder) as server:
            pass
        assert ask(server, "SELECT 1") == 1
        leave.set()
        other.result()
    assert not is_alive(server.pid)


def test_ctrl_c_ends_the_server_with_its_block(folder: Path) -> None:
    program = (
        "import time\nwith running(folder) as server:\n    print(server.pid, flush=True)\n    time.sleep(600)"
    )
    parent = run_elsewhere(folder, program)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGINT)
    parent.communicate(timeout=120)
    assert not is_alive(pid)


def test_folders_and_a_wheel_closed_to_others_stay_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual `make run` as root: /root is 0700, the venv and the data lie below it."""
    closed = tmp_path / "root"
    closed.mkdir(mode=0o700)
    spec = importlib.util.find_spec(programs.PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    site = Path(spec.origin).parents[1]
    for part in (programs.BINARIES.parent, programs.LIBRARIES):
        shutil.copytree(site / part, closed / "venv" / part)
    spec.origin = str(closed / "venv" / programs.PACKAGE / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with tempfile.TemporaryDirectory(dir="/tmp") as cache:
        Path(cache).chmod(0o755)
        monkeypatch.setattr(programs, "SHARED_CACHE", Path(cache, "ricordo"))
        with embedded.running(closed / "project" / ".ricordo") as server:
            ask(server, "CREATE EXTENSION vector")
            assert ask(server, "SELECT '[1,2]'::vector <-> '[1,4]'::vector") == 2
        assert Path(cache, "ricordo").exists() == (os.geteuid() == 0)  # an ordinary user reaches the wheel
    assert closed.stat().st_mode & 0o777 == 0o700
