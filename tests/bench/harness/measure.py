"""A run: measure, print Markdown, keep the rows. In the harness's own environment."""

import datetime
import json
import os
import platform
import signal
import subprocess
import sys
from typing import Any

from tests.bench.harness.bench import Bench
from tests.bench.harness.environments import binary, redis_server
from tests.bench.harness.marks import Marks
from tests.bench.harness.options import Options, read
from tests.bench.harness.places import RESULTS
from tests.bench.harness.report import details, overview
from tests.bench.harness.scenarios import Size


def main() -> None:
    options = read(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))  # so that everything started is ended
    started = datetime.datetime.now(datetime.UTC)
    machine = environment(options)
    bench = Bench(options.variants, options.scenarios, Size(options.quick))

    def save() -> None:
        RESULTS.mkdir(parents=True, exist_ok=True)
        data = {
            "started": f"{started:%Y-%m-%d %H:%M} UTC",
            "machine": machine,
            "failed": bench.results.failed,
        }
        path = RESULTS / f"{started:%Y-%m-%dT%H%M%S}{'-quick' if options.quick else ''}.json"
        path.write_text(json.dumps(data | {"rows": bench.results.rows}, indent=1) + "\n")

    bench.run(options.repeats, save)
    print(markdown(bench, options, machine))


def markdown(bench: Bench, options: Options, machine: dict[str, Any]) -> str:
    how = "one repeat" if options.repeats == 1 else f"medians of {options.repeats} repeats"
    if options.quick:
        how += ", a tenth of the jobs"
    parts = [
        f"{machine['cores']} cores, Python {machine['python']}, {machine['redis']}, on loopback; {how}. "
        f"Load average before the run: {machine['load'][0]:.1f}.",
        overview(bench.results, options.variants),
        Marks(bench.results, options.variants).markdown(),
        details(bench.results, options.variants),
    ]
    if bench.results.failed:
        parts.append("Failed:\n\n" + "\n".join(f"- {line}" for line in bench.results.failed))
    return "\n\n".join(part for part in parts if part)


def environment(options: Options) -> dict[str, Any]:
    """What the figures depend on."""
    versions = {}
    for peer in sorted({variant.peer for variant in options.variants}):
        listed = subprocess.run(
            [
                str(binary(peer, "python")),
                "-m",
                "pip",
                "list",
                "--format=json",
                "--disable-pip-version-check",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        versions[peer] = {row["name"]: row["version"] for row in json.loads(listed.stdout)}
    server = subprocess.run([redis_server(), "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "redis": server.split(" sha=")[0].strip(),
        "load": os.getloadavg(),
        "versions": versions,
    }


if __name__ == "__main__":
    main()
