"""Install what would be published into an empty environment, far from the repository, and use it there.

Usage: python -m tools.try_wheel dist
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
MOST_WHEEL, MOST_SDIST = 1 << 20, 4 << 20  # bytes
TIMES = 7


def run(command: list[str | Path], folder: Path) -> str:
    """Run a command as someone without the repository would, and return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLEMS_"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def least_seconds(command: list[str | Path], folder: Path) -> float:
    """Time of the fastest run, less that of an empty one of the same interpreter."""
    code = "import subprocess, sys, time; t = time.perf_counter(); subprocess.run(sys.argv[1:], capture_output=True);"
    code += "print(time.perf_counter() - t)"
    return min(float(run([sys.executable, "-c", code, *map(str, command)], folder)) for _ in range(TIMES))


def contents(dist: Path) -> tuple[Path, Path]:
    """Check what is in the wheel and in the source archive, and say how large they are."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with ZipFile(wheel) as archive:
        inside = archive.namelist()
    with tarfile.open(sdist) as archive:
        sources = archive.getnames()
    outside = [name for name in inside if not name.startswith("clems")]
    results = [name for name in sources if re.search(r"/results/.*\.jsonl|/results/.*\.png|\.clems$", name)]
    assert not outside, f"the wheel has files outside the package: {outside}"
    assert not results, f"the source archive has results: {results[:3]}"
    assert wheel.stat().st_size < MOST_WHEEL
    assert sdist.stat().st_size < MOST_SDIST
    print(f"{wheel.name}: {wheel.stat().st_size / 1024:.0f} KiB, {len(inside)} files")
    print(f"{sdist.name}: {sdist.stat().st_size / 1024:.0f} KiB, {len(sources)} files")
    return wheel, sdist


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path)
    wheel, _ = contents(parser.parse_args().dist.resolve())
    snippet = re.search(r"<!-- runs -->\n```python\n(.*?)```", ROOT.joinpath("README.md").read_text(), re.DOTALL)
    demo = ROOT.joinpath("examples/demo.py").read_text()
    assert snippet
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "venv", folder / "empty"], folder)
        bin_ = folder / "empty" / ("Scripts" if os.name == "nt" else "bin")
        python, command = bin_ / "python", bin_ / "clems"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*install, wheel], folder)
        nothing = least_seconds([python, "-c", "pass"], folder)
        imported = least_seconds([python, "-c", "import clems"], folder) - nothing
        print(f"import clems: {1000 * imported:.0f} ms beyond Python's own {1000 * nothing:.0f} ms")
        print(f"clems --help: {least_seconds([command, '--help'], folder):.2f} s")
        assert "predict" in run([command, "--help"], folder)
        folder.joinpath("snippet.py").write_text(snippet[1])
        print(run([python, "snippet.py"], folder))
        run([*install, f"{wheel}[report]"], folder)
        folder.joinpath("demo.py").write_text(demo)
        print(run([python, "demo.py"], folder).strip().splitlines()[-1])
        reports = [path.name for path in folder.glob("build/*.html")]
        assert reports, "the demo wrote no report"
        print(f"the demo wrote {', '.join(reports)}")


if __name__ == "__main__":
    main()
