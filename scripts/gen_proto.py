"""Writes client/ricordo/v1 from proto/ricordo/v1; `--check` fails when the committed files differ."""

import argparse
import filecmp
import shutil
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "proto"
TARGET = ROOT / "client" / "ricordo" / "v1"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="compare instead of writing")
    check = arguments.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        generated = generate(Path(folder))
        if check:
            return report_differences(generated)
        shutil.rmtree(TARGET, ignore_errors=True)
        shutil.copytree(generated, TARGET)
    return 0


def generate(folder: Path) -> Path:
    """Runs the generators into `folder` and returns the package they made."""
    well_known = Path(protoc.__file__).parent / "_proto"
    sources = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    messages = [f"--python_out={folder}", f"--mypy_out=quiet:{folder}", *sources]
    stubs = [f"--grpc_python_out={folder}", f"--mypy_grpc_out=quiet:{folder}"]
    stubs += [source for source in sources if source.endswith("_service.proto")]
    for arguments in (messages, stubs):
        status = protoc.main(["protoc", f"-I{PROTOS}", f"-I{well_known}", *arguments])
        if status != 0:
            sys.exit(status)
    package = folder / "ricordo" / "v1"
    (package / "__init__.py").write_text(
        '"""Generated from proto/ricordo/v1: the raw contract, for those who need it."""\n'
    )
    return package


def report_differences(generated: Path) -> int:
    names = sorted(
        {path.name for folder in (generated, TARGET) for path in folder.glob("*.py*") if path.is_file()}
    )
    _, differing, missing = filecmp.cmpfiles(generated, TARGET, names, shallow=False)
    for name in sorted(differing + missing):
        print(f"client/ricordo/v1/{name} is not what proto/ gives; run `make gen`", file=sys.stderr)
    return 1 if differing or missing else 0


if __name__ == "__main__":
    sys.exit(main())
