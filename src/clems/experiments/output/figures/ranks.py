"""Average ranks over datasets with their critical difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clems.experiments.analysis.naming import heading_of
from clems.experiments.analysis.ranking import Ranking, over_datasets
from clems.experiments.analysis.selection import results
from clems.experiments.output.figures.style import looks, make_panels, style
from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan
    from clems.experiments.spec import Spec


def critical_differences(plan: Plan, records: Records) -> dict[str, Any]:
    """Draw average ranks over datasets for each criterion; bars join learners whose ranks do not differ significantly.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    records : mapping
        Record of each key that has one.

    Returns
    -------
    dict
        Figure of each criterion that has enough complete datasets and learners.
    """
    rankings = over_datasets(results(plan, records))
    return {name: _ranks(plan.spec, ranking) for name, ranking in rankings.items() if isinstance(ranking, Ranking)}


def _ranks(spec: Spec, ranking: Ranking) -> Any:
    with style():
        try:
            from scikit_posthocs import critical_difference_diagram  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError("Diagrams of ranks need scikit-posthocs: pip install 'clems[report]'.") from None
        look_of = looks(spec)
        titles = {name: look_of[name].title for name in ranking.learners}
        figure, (ax,) = make_panels(1, 1, (5.6, 1.0 + 0.16 * len(titles)))
        ax.grid(visible=False)
        ax.set_title(
            f"{heading_of(ranking.criterion)}: average ranks on {len(ranking.datasets)} datasets, "
            f"critical difference {ranking.critical_difference:.2f}",
            loc="left",
            pad=18,
        )
        drawn = critical_difference_diagram(
            ranking.ranks.rename(titles),
            ranking.p_values.rename(titles, axis=0).rename(titles, axis=1),
            ax=ax,
            label_fmt_left="{label}  {rank:.2f}  ",
            label_fmt_right="  {rank:.2f}  {label}",
            label_props={"fontsize": 8},
            elbow_props={"linewidth": 1.0},
            marker_props={"s": 14},
            crossbar_props={"linewidth": 2.6, "color": "#555555", "solid_capstyle": "round"},
            color_palette={look_of[name].title: look_of[name].colour for name in ranking.learners},
        )
        ax.spines["top"].set_visible(True)
        for label in drawn["labels"]:
            label.set_color("#222222")  # pale colours are hard to read
    return figure
