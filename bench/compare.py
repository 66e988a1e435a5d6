"""Runs the workloads on every engine and prints a report: ours, the peers, ours over the best peer."""

import importlib
import os
import shutil
import tempfile

import engines
import options as command_line
from engines.failure import Failed
from report import Report

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Bench:
    """What a workload needs: the options, a place for data directories, the report."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.root = ROOT
        with self.opened("versions") as found:
            versions = {engine.name: engine.version() for engine in found}
        self.report = Report(ROOT, options, versions)

    def opened(self, name, *only):
        """A context of the engines, all or those called so, on empty directories."""
        path = os.path.join(self.directory, name)
        return engines.opened(self.options, path, *([only] if only else []))


def main():
    options = command_line.parse()
    if options.directory:
        os.makedirs(options.directory, exist_ok=True)
    directory = tempfile.mkdtemp(prefix="basalt-bench-", dir=options.directory)
    try:
        bench = Bench(options, directory)
        for name in [options.only] if options.only else command_line.WORKLOADS:
            print(f"{name}:", flush=True)
            _run(name, bench)
            shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
        print("\n" + bench.report.text())
        if options.output:
            with open(options.output, "w", encoding="utf-8") as file:
                file.write(bench.report.text())
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run(name, bench):
    """Runs a workload; if an engine fails, the report says so and the next workload has its turn."""
    try:
        importlib.import_module(f"workloads.{name}").run(bench)
    except Failed as failure:
        bench.report.section(f"{name}: not measured", f"`{failure}`")


if __name__ == "__main__":
    main()
