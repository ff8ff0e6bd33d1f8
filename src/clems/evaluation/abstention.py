"""What handing rows over is worth: the cost of the rows that are decided, by the share of those that are not."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clems.arrays import Floats

STEPS = 20  # of the share, from none to all


def abstention_curve(expected: Floats, realised: Floats, price: float = 0.0, steps: int = STEPS) -> pd.DataFrame:
    """Compute the mean cost of all rows by the share that is handed over, those with the greatest expected cost first.

    Parameters
    ----------
    expected, realised : ndarray of shape (n,)
        What the prediction of each row is expected to cost, and what it costs.
    price : float, default=0.0
        What handing a row over costs.
    steps : int, default=20
        The share rises from 0 to 1 in so many steps, fewer if there are fewer rows.

    Returns
    -------
    DataFrame
        A line per share, with the columns `share` of the rows that are handed over, `threshold` (the greatest expected
        cost of a row that is decided), `decided` (the mean cost of these rows), and mean costs per row, over all
        rows and with the price of those handed over: `cost`, `random` if as many rows had been picked at random, and
        `perfect` if those that cost most had been. Rows of the same expected cost come in random order: the line has
        the mean over all of these.

    Examples
    --------
    >>> import numpy as np
    >>> from clems.evaluation import abstention_curve
    >>> abstention_curve(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 1, 0.6]), price=0.25, steps=2)
       share  threshold  decided   cost  random  perfect
    0    0.0        0.4      0.4  0.400   0.400    0.400
    1    0.5        0.2      0.0  0.125   0.325    0.125
    2    1.0        NaN      NaN  0.250   0.250    0.250
    """
    n = len(expected)
    handed_over = np.unique(np.linspace(0, n, steps + 1).round().astype(np.intp))
    decided = n - handed_over
    share = handed_over / n
    fair = pd.Series(realised).groupby(np.asarray(expected)).transform("mean").to_numpy()  # over rows expected alike
    order = np.argsort(expected, kind="stable")
    paid = np.concatenate([[0], fair[order].cumsum()])[decided]
    least = np.concatenate([[0], np.sort(realised).cumsum()])[decided]
    some = decided > 0
    return pd.DataFrame(
        {
            "share": share,
            "threshold": np.where(some, np.asarray(expected)[order][decided - 1], np.nan),
            "decided": np.divide(paid, decided, out=np.full(len(decided), np.nan), where=some),
            "cost": paid / n + price * share,
            "random": np.mean(realised) * (1 - share) + price * share,
            "perfect": least / n + price * share,
        }
    )
