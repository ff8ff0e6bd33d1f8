"""The counts that reports lead with, once more from the records with plain numpy: nothing of clems is imported here."""

import csv
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
FILES = {  # the folder of each report, and its experiment
    "earlier/table2": "results/earlier/table2/table2.toml",
    "earlier/table3": "results/earlier/table3/table3.toml",
    "table2": "experiments/paper/table2.toml",
    "table3": "experiments/paper/table3.toml",
    "rivals": "experiments/choices/rivals.toml",
}
LESS_IS_BETTER = {"rank", "composition", "hamming"}


def experiment(folder):
    path = ROOT / FILES[folder]
    return tomllib.loads(path.read_text()), path


def column_of(record, learners):
    """The entry that a record belongs to: of its kind, with parameters that the record has, the most special one."""
    fitting = []
    for name, entry in learners.items():
        wanted = {key: None if value == "none" else value for key, value in entry.get("parameters", {}).items()}
        same = all(record["parameters"].get(key, "absent") == value for key, value in wanted.items())
        if entry.get("kind", name) == record["kind"] and same and entry.get("cost") in (None, *costs_of(record)):
            fitting.append((len(wanted), name))
    most = max(count for count, _ in fitting)
    return [name for count, name in fitting if count == most]


def costs_of(record):
    return {record["cost"], *(decision["cost"] for decision in record["decisions"])}


def values_of(folder):
    """Test values by (dataset, criterion), learner and repetition, decided by validation; and shares of test rows."""
    spec, _ = experiment(folder)
    found, shares, kept = {}, {}, {}
    for line in ROOT.joinpath("results", folder, "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["status"] == "done":
            kept[record["key"]] = record
    for record in kept.values():
        rows = record["rows"]
        for name in column_of(record, spec["learners"]):
            for criterion in spec["criteria"]:
                target = spec["learners"][name].get("cost", criterion)
                fitting = [one for one in record["decisions"] if one["cost"] in (None, target)]
                if not fitting:
                    continue
                sign = -1 if criterion in LESS_IS_BETTER else 1
                goodness = [sign * (one["validation"] or {}).get(criterion, -np.inf * sign) for one in fitting]
                value = fitting[int(np.argmax(goodness))]["test"][criterion]
                row = (record["dataset"], criterion)
                found.setdefault(row, {}).setdefault(name, {})[record["repetition"]] = sign * value
                shares.setdefault(row, []).append(rows["test"] / (rows["train"] + rows["validation"]))
    return spec, found, {row: np.mean(own) for row, own in shares.items()}


def planned(spec, name, dataset):
    of_dataset = spec.get("repetitions_on", {}).get(dataset, spec["repetitions"])
    return min(of_dataset, spec["learners"][name].get("repetitions", of_dataset))


def p_of(differences, share):
    """Nadeau and Bengio's corrected t-test. With t = √v tan θ the density of t is proportional to cos^(v − 1) θ."""
    J = len(differences)
    spread = np.sqrt((1 / J + share) * differences.var(ddof=1))
    if spread <= 1e-12 * np.abs(differences).max():
        return 1.0 if np.allclose(differences, 0, atol=1e-15) else 0.0
    start = np.arctan(abs(differences.mean()) / spread / np.sqrt(J - 1))
    above, whole = (area_of(J - 2, lower) for lower in (start, 0.0))
    return above / whole


def area_of(power, lower):
    middles = lower + (np.arange(20000) + 0.5) / 20000 * (np.pi / 2 - lower)
    return (np.cos(middles) ** power).mean() * (np.pi / 2 - lower)


def holm(p):
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1)), 1)
    return corrected


def counts_of(folder):
    """Of each learner: rows in which it is first or not significantly behind, in which it is first, and all."""
    spec, found, shares = values_of(folder)
    counts = {name: [0, 0, 0] for name in spec["learners"]}
    for row, values in found.items():
        racing = {
            name: np.array([own[number] for number in sorted(own)])
            for name in spec["learners"]
            if len(own := values.get(name, {})) == planned(spec, name, row[0])
        }
        if not racing:
            continue
        best = max(racing, key=lambda name: racing[name].mean())
        tested = {}
        for name, own in racing.items():
            pairs = min(len(own), len(racing[best]))  # repetitions are numbered from 0
            if name != best and pairs > 1:
                lost = racing[best][:pairs] - own[:pairs]
                tested[name] = (p_of(lost, shares[row]), lost.mean())
        if not tested:
            continue
        p = dict(zip(tested, holm([one for one, _ in tested.values()]), strict=True))
        for name in [best, *tested]:
            worse = name != best and p[name] < 0.05 and tested[name][1] > 0
            first = np.isclose(racing[name].mean(), racing[best].mean(), rtol=1e-12)
            counts[name] = [a + b for a, b in zip(counts[name], (not worse, first, 1), strict=True)]
    return {name: tuple(map(int, own)) for name, own in counts.items() if own[2]}


def report_of(folder):
    return ROOT.joinpath("results", folder, f"{folder.rpartition('/')[2]}.md")


WRITTEN = [folder for folder in FILES if report_of(folder).exists()]


@pytest.mark.parametrize("folder", WRITTEN)
def test_the_report_counts_as_numpy_does(folder):
    spec, _ = experiment(folder)
    (said,) = re.findall(r"^- First, or not significantly behind .*$", report_of(folder).read_text(), re.MULTILINE)
    found = {}
    for name, entry in spec["learners"].items():
        pattern = rf"(?:is|,|and) {re.escape(entry.get('title', name))} in (\d+) of (\d+) rows \(first in (\d+);"
        for near, rows, first in re.findall(pattern, said):
            found[name] = (int(near), int(first), int(rows))
    assert found == counts_of(folder)
    assert len(found) > 2


@pytest.mark.parametrize("folder", [folder for folder in WRITTEN if folder.endswith("table2")])
def test_the_report_is_as_far_from_print_as_numpy_says(folder):
    spec, values, _ = values_of(folder)
    with (experiment(folder)[1].parent / spec["printed"]).open() as file:
        printed = {(one["dataset"], one["learner"], one["criterion"]): one for one in csv.DictReader(file)}
    text = report_of(folder).read_text()
    for name, entry in spec["learners"].items():
        better = worse = cells = 0
        for (dataset, criterion), by_learner in values.items():
            own = np.array([*by_learner.get(name, {}).values()])
            beside = printed.get((dataset, entry.get("printed_as", name), criterion))
            if len(own) != planned(spec, name, dataset) or beside is None:
                continue
            sign = -1 if criterion in LESS_IS_BETTER else 1
            error = np.hypot(own.std(ddof=1) / np.sqrt(len(own)), float(beside["ste"]))
            gain = (own.mean() - sign * float(beside["mean"])) / error
            better, worse, cells = better + (gain > 3), worse + (gain < -3), cells + 1
        (line,) = re.findall(rf"^- {re.escape(entry['title'])}(?: \(beside .*?\))?: better.*$", text, re.MULTILINE)
        assert f"better than print in {better} of {cells} cells, worse in {worse}" in line


def enough(own, folder, name, dataset):
    """Repetitions of a learner, where there are at least three, or all that are planned."""
    return own.get(name, {}) if len(own.get(name, {})) >= min(3, planned(experiment(folder)[0], name, dataset)) else {}


def wilcoxon_p(gains):
    """Share of all ways to turn signs over in which the ranks of gains add up at least as far from even as they do."""
    size = np.abs(gains)
    ranks = np.array([(size < one).sum() + ((size == one).sum() + 1) / 2 for one in size])
    signs = (np.arange(2 ** len(gains))[:, None] >> np.arange(len(gains))) & 1
    apart = np.abs(signs @ ranks - ranks.sum() / 2)
    return (apart >= abs(ranks[gains > 0].sum() - ranks.sum() / 2) - 1e-9).mean()


def test_the_page_on_the_paper_compares_over_datasets_as_numpy_does():
    """Mean ranks, and Wilcoxon's test of the percents by which CLEMS is better than PCC."""
    spec, values, _ = values_of("table2")
    page = " ".join(ROOT.joinpath("docs/paper.md").read_text().split())
    ranks, gains = {}, {}
    for (dataset, criterion), by_learner in values.items():
        own = {name: enough(by_learner, "table2", name, dataset) for name in spec["learners"]}
        common = sorted({*own["clems"]} & {*own["pcc"]})
        if len(common) > 1:
            ours, theirs = (np.mean([own[name][at] for at in common]) for name in ("clems", "pcc"))
            gains.setdefault(criterion, []).append((ours - theirs) / abs(theirs))
        if all(own.values()):
            means = {name: np.mean([*found.values()]) for name, found in own.items()}
            for name, mean in means.items():
                rank = 0.5 + sum((other > mean) + (other == mean) / 2 for other in means.values())  # ties share theirs
                ranks.setdefault((name, criterion), []).append(rank)
    for criterion in spec["criteria"]:
        own = np.array(gains[criterion])
        p = f"{wilcoxon_p(own):.2g}"
        assert re.search(rf"on {(own > 0).sum()} of {len(own)} \(p = {re.escape(p)}\)", page), (criterion, p)
    for name, entry in spec["learners"].items():
        cells = " | ".join(f"{np.mean(ranks[name, criterion]):.2f}" for criterion in spec["criteria"])
        assert f"| {entry['title']} | {cells} |" in page
