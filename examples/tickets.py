"""Support tickets as companies have them: text, categories, gaps, dates, ids, tags and a price list, generated.

    python examples/tickets.py build/tickets

writes tickets.csv, test.csv, new.csv and prices.csv, and the same as a German spreadsheet saves them (semicolons,
decimal commas, Latin-1): tickets-de.csv, test-de.csv and prices-de.csv. The page "From a CSV to savings" starts from
these files.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

TAGS = {  # words that tell of each tag
    "Rechnung": ["rechnung", "mahnung", "betrag", "überweisung", "gutschrift"],
    "Netz": ["vpn", "wlan", "verbindung", "router", "netzwerk"],
    "Drucker": ["drucker", "toner", "papierstau", "scanner"],
    "Dringend": ["sofort", "dringend", "ausfall", "produktion", "stillstand"],
}
FILLER = (
    "bitte das system seit gestern nicht mehr wir haben ein problem mit der anlage im büro können sie uns helfen größe"
)
SHARES = [0.35, 0.3, 0.25, 0.2]
PRICES = pd.DataFrame({"label": [*TAGS], "false_negative": [20.5, 15, 8, 80], "false_positive": [4, 3.5, 2, 5]})


def tickets(n, seed):
    """Tickets of a season."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, len(TAGS))) < SHARES
    texts = []
    for row in Y:
        words = [*rng.choice(FILLER.split(), rng.integers(6, 14))]
        for has, typical in zip(row, TAGS.values(), strict=True):
            if rng.random() < (0.8 if has else 0.06):  # some tickets do not say it, some say it of something else
                words.insert(rng.integers(len(words) + 1), rng.choice(typical))
        texts.append(" ".join(words).capitalize() + rng.choice([".", "!", "; danke!", "?"]))
    created = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 300 * 24, n), "h")
    company = [f"{rng.choice(['Müller', 'Weiß', 'Maier', 'Schulz'])} {rng.choice(['GmbH', 'AG'])}" for _ in range(n)]
    hours = (8 - 3 * Y[:, 3] + rng.normal(0, 2, n)).round(2)
    return pd.DataFrame(
        {
            "id": [f"T-{seed}{row:05d}" for row in range(n)],
            "text": texts,
            "category": np.where(Y[:, 2] & (rng.random(n) < 0.6), "Gerät", rng.choice(["Büro", "Konto", "Gerät"], n)),
            "country": pd.Series(rng.choice(["DE", "AT", "CH"], n)).where(rng.random(n) > 0.1),
            "created": created.strftime("%d.%m.%Y %H:%M"),
            "hours": pd.Series(hours).where(rng.random(n) > 0.1),
            "customer": [f"{name} {number}" for name, number in zip(company, rng.integers(1, 200, n), strict=True)],
            "vip": rng.choice(["yes", "no"], n),
            "tenant": "A1",
            "tags": [";".join(np.array([*TAGS])[row]) for row in Y],
        }
    )


def main(folder):
    """Write the files."""
    folder.mkdir(parents=True, exist_ok=True)
    train, test = tickets(800, 1), tickets(400, 2)
    train.to_csv(folder / "tickets.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    tickets(50, 3).drop(columns="tags").to_csv(folder / "new.csv", index=False)
    PRICES.to_csv(folder / "prices.csv", index=False)
    german = {"index": False, "sep": ";", "decimal": ",", "encoding": "latin-1"}
    train.to_csv(folder / "tickets-de.csv", **german)
    test.to_csv(folder / "test-de.csv", **german)
    PRICES.assign(geschätzt="Jörg").to_csv(folder / "prices-de.csv", **german)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/tickets"))
