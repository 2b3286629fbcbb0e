"""A small language model behind the HTTP server of llama.cpp, which speaks the API of OpenAI; prints its address."""

import sys
from pathlib import Path
from threading import Event

import xllamacpp  # type: ignore[import-not-found]  # `make small-model` puts it where PYTHONPATH says


def main(model: Path) -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201
    Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
