"""The engines that are compared: each runs SQL in a process of its own and says how long it took."""

import contextlib
import os

from engines.basalt import Basalt
from engines.peer import Peer


@contextlib.contextmanager
def opened(options, directory, names=("basalt", "clickhouse", "duckdb")):
    """The engines called `names`, each started on an empty directory below `directory`."""
    os.makedirs(directory)
    made = [_engine(name, options, os.path.join(directory, name)) for name in names]
    try:
        for engine in made:
            engine.start()
        yield made
    finally:
        for engine in made:
            engine.stop()


def _engine(name, options, path):
    if name == "basalt":
        return Basalt(options.basalt, path, options.threads)
    return Peer(name, path, options.threads)
