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
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = (
        1  # more of them wait for one another
    )
    parameters.sampling.seed = 1
    parameters.sampling.penalty_freq = 0.5  # without it the model says one sentence for ever
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201
    Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
