"""The list of cases: each runs one kernel of somebody else's and compares all that it wrote."""

import pathlib

import numpy as np

from bounds import Real, share
from kernels import Missing, Wrong, module

CASES = []


class Case:
    """One kernel with one set of arguments."""

    def __init__(self, corpus, name, function):
        self.corpus, self.name, self.function = corpus, name, function


def case(corpus, name):
    """Registers a function of the sources, the runner and a generator of random numbers. It answers pairs of what was found
    and what was wanted."""

    def register(function):
        CASES.append(Case(corpus, name, function))
        return function

    return register


class Sources:
    """Where the corpora are."""

    def __init__(self, folders):
        self.folders = {name: pathlib.Path(folder) for name, folder in folders.items() if folder}

    def path(self, corpus, path=""):
        if corpus not in self.folders:
            raise Missing(f"no folder of {corpus}")
        path = self.folders[corpus] / path
        if not path.exists():
            raise Missing(str(path))
        return path

    def module(self, corpus, path):
        return module(self.path(corpus, path))


def judge(pairs):
    """The largest error, as a share of its bound."""
    worst = 0.0
    for index, (found, want) in enumerate(pairs):
        if found.size == 0:
            raise Wrong(f"result {index} is empty")
        part = share(found, want)
        if not part <= 1:
            value = want.value if isinstance(want, Real) else np.asarray(want)
            raise Wrong(f"result {index} is {part:.3g} of its bound; found {found.ravel()[:4]}, want {value.ravel()[:4]}")
        worst = max(worst, part)
    return worst


def normal(rng, *shape, dtype=np.float32, scale=1.0):
    """Normal numbers that `dtype` can hold."""
    return (scale * rng.standard_normal(shape)).astype(dtype)


def wide(array):
    """Exact values of an array."""
    return Real(np.asarray(array).astype(np.float64))
