"""The life of the server of a folder.

One lock tells whether it runs: each Postgres process inherits `server.lock`, so the kernel holds it as long
as one of them lives. `postmaster.pid` cannot tell: after a crash its pid may be anybody's. Who gets the lock
may start a server; who does not waits for the server of the one who has it.
"""

import fcntl
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

import psycopg

from ricordo_server.embedded.programs import EmbeddedPostgresError, failure, launch_server, make_cluster

HOST = "127.0.0.1"
START_TIMEOUT = 600.0  # recovery replays up to max_wal_size and more: minutes on a slow disk
STOP_TIMEOUT = 120.0  # the last checkpoint writes every dirty buffer
POLL_INTERVAL = 0.02
LAUNCHES = 2  # the second, since another program may take the chosen port before Postgres does

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
DEFAULTS = {"shared_buffers": "128MB", "max_connections": "100", "fsync": "on"}
# No Unix socket: its path may have 107 bytes, and the folder's is longer sooner or later.
LOOPBACK_ONLY = {"listen_addresses": HOST, "unix_socket_directories": ""}


@dataclass(frozen=True)
class EmbeddedPostgres:
    """A server that has accepted a connection."""

    data_dir: Path
    port: int
    pid: int

    def url(self, user: str, password: str, database: str = "postgres") -> str:
        """The address for a role; without TLS, which loopback does not need, whatever PGSSLMODE says."""
        user, password, database = (quote(part, safe="") for part in (user, password, database))
        return f"postgresql://{user}:{password}@{HOST}:{self.port}/{database}?sslmode=disable"

    @property
    def superuser_url(self) -> str:
        """The address for the role `postgres`."""
        password_file = self.data_dir.parent / "superuser.password"
        if not password_file.exists():
            raise EmbeddedPostgresError(f"{password_file} is missing: restore it, or use a new folder.")
        return self.url("postgres", password_file.read_text())


def start(data_folder: Path, *, port: int = 0, settings: Mapping[str, str] = NO_SETTINGS) -> EmbeddedPostgres:
    """Start the server of a folder, or adopt the one that runs there; `settings` count for a new one only.

    Port 0 means the port of the last time if it is free, else any free one.
    """
    folder = _make_folder(data_folder)
    launches = 0
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        with _claim(folder) as lock:
            if lock is not None:
                if launches == LAUNCHES:
                    raise failure(folder, "Postgres ended while it started; the log says why.")
                _launch(folder, lock, port, settings)
                launches += 1
        server = _find_ready_server(folder / "data")
        if server is not None:
            return _require_port(server, port)
        time.sleep(POLL_INTERVAL)
    raise failure(folder, f"Postgres is not ready after {START_TIMEOUT:.0f} s but goes on: try again later.")


def stop(server: EmbeddedPostgres) -> None:
    """Shut the server down, rolling open transactions back; nothing happens if it has ended already."""
    _shut_down(server.data_dir, server.pid)


@contextmanager
def running(
    data_folder: Path, *, port: int = 0, settings: Mapping[str, str] = NO_SETTINGS
) -> Iterator[EmbeddedPostgres]:
    """A server for the block; of the blocks that share a folder, in any process, the last one stops it."""
    folder = _make_folder(data_folder)
    users = _open_lock(folder / "users.lock")
    fcntl.flock(users, fcntl.LOCK_SH)
    try:
        yield start(folder, port=port, settings=settings)
    finally:
        if _try_lock(users):
            _shut_down(folder / "data")
        os.close(users)


def _make_folder(data_folder: Path) -> Path:
    """Private to the caller; as root too, for the server's user enters `data` without passing through."""
    folder = data_folder.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # flock, since child processes do not inherit lockf
    except BlockingIOError:
        return False
    return True


@contextmanager
def _claim(folder: Path) -> Iterator[int | None]:
    """The folder's lock, or None while a server or another launcher has it."""
    lock = _open_lock(folder / "server.lock")
    try:
        yield lock if _try_lock(lock) else None
    finally:
        os.close(lock)  # a child keeps its copy, and with it the lock


def _launch(folder: Path, lock: int, port: int, settings: Mapping[str, str]) -> None:
    # The lock says that no server runs, but Postgres refuses to start when the pid in a stale file is in use
    # again. Without the file it still refuses while a process has this directory's shared memory.
    (folder / "data" / "postmaster.pid").unlink(missing_ok=True)
    if not (folder / "data").exists():
        make_cluster(folder, lock)
    chosen = {"port": str(_choose_port(folder, port))}
    launch_server(folder, lock, {**DEFAULTS, **settings, **LOOPBACK_ONLY, **chosen})


def _choose_port(folder: Path, wanted: int) -> int:
    memory = folder / "port"
    remembered = int(memory.read_text() or 0) if memory.exists() else 0
    port = _find_free_port(wanted) if wanted else _find_free_port(remembered) or _find_free_port(0)
    if port is None:
        raise EmbeddedPostgresError(f"Port {wanted} is taken: choose another, or 0 for any free one.")
    memory.write_text(str(port))
    return port


def _find_free_port(wanted: int) -> int | None:
    """The wanted port if it is free; any free one for 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Postgres does
        try:
            probe.bind((HOST, wanted))
        except OSError:
            return None
        return int(probe.getsockname()[1])


def _find_ready_server(data_dir: Path) -> EmbeddedPostgres | None:
    """The server, once it calls itself ready and proves it."""
    lines = _read_postmaster_file(data_dir)
    if len(lines) < 8 or lines[7].strip() != "ready":
        return None
    server = EmbeddedPostgres(data_dir, port=int(lines[3]), pid=int(lines[0]))
    try:
        with psycopg.connect(server.superuser_url, connect_timeout=5) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError as error:
        if error.pgconn is not None and error.pgconn.used_password:  # a busy server refuses before it asks
            raise EmbeddedPostgresError(
                f"Set the password of the role `postgres` to that in superuser.password again: {error}"
            ) from error
        return None
    return server


def _require_port(server: EmbeddedPostgres, port: int) -> EmbeddedPostgres:
    if port not in (0, server.port):
        raise EmbeddedPostgresError(
            f"It already runs on port {server.port}: stop it first, or ask for port 0."
        )
    return server


def _read_postmaster_file(data_dir: Path) -> list[str]:
    """Pid, directory, start time, port, socket directory, address, shared memory, state; as far as known."""
    with suppress(FileNotFoundError):
        return (data_dir / "postmaster.pid").read_text().splitlines()
    return []


def _shut_down(data_dir: Path, pid: int | None = None) -> None:
    """End the folder's server (only the one with this pid, if given) and wait for its last process."""
    told: set[int] = set()
    deadline = time.monotonic() + STOP_TIMEOUT
    while time.monotonic() < deadline:
        with _claim(data_dir.parent) as lock:
            if lock is not None:
                return
        lines = _read_postmaster_file(data_dir)
        current = int(lines[0]) if lines else None
        if pid is not None and current not in (None, pid):
            return
        if current is not None and current not in told:
            told.add(current)
            with suppress(ProcessLookupError):
                os.kill(current, signal.SIGINT)  # Postgres' "fast" shutdown
        time.sleep(POLL_INTERVAL)
    raise failure(data_dir.parent, f"Postgres has not ended in {STOP_TIMEOUT:.0f} s; the log may say why.")
