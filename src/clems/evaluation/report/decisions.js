"use strict";
// Decisions of least expected cost by probabilities of labels, as clems.decide(P, cost, at_most=…, abstain_at=…).
const decisions = (() => {
  const TIE = 1e-12; // costs of prefixes that differ by less, relatively, are equal; the shortest is taken
  const NEGLIGIBLE = 1e-18; // probabilities of counts that are left out

  // Costs by counts: true positives, true labels, predicted labels, all labels.
  const COSTS = {
    f1: (tp, s, m) => (s + m ? (s + m - 2 * tp) / (s + m) : 0),
    accuracy: (tp, s, m) => (s + m ? (s + m - 2 * tp) / (s + m - tp) : 0),
    rank: (tp, s, m, K) => (m - tp) * (s / 2) + (s - tp) * ((K - s) / 2),
    hamming: (tp, s, m, K) => (s + m - 2 * tp) / K,
  };

  // How many of some independent labels are there: probabilities of the counts from `first` on.
  const with_label = ({ first, mass }, p) => {
    const next = new Float64Array(mass.length + 1);
    mass.forEach((q, at) => {
      next[at] += q * (1 - p);
      next[at + 1] += q * p;
    });
    let start = 0, end = next.length;
    while (end - start > 1 && next[start] < NEGLIGIBLE) start++;
    while (end - start > 1 && next[end - 1] < NEGLIGIBLE) end--;
    return { first: first + start, mass: next.subarray(start, end) };
  };
  const running = (p) => {
    const sums = [{ first: 0, mass: Float64Array.of(1) }];
    for (const one of p) sums.push(with_label(sums[sums.length - 1], one));
    return sums;
  };

  // Expected cost of the first m labels, for each m: hits and misses are of different labels, so they are independent.
  const prefix_costs = (p, cost) => {
    const K = p.length, hits = running(p), misses = running([...p].reverse()).reverse();
    return hits.map((hit, m) => {
      const miss = misses[m];
      let sum = 0;
      for (let i = 0; i < hit.mass.length; i++)
        for (let j = 0; j < miss.mass.length; j++) {
          const tp = hit.first + i;
          sum += hit.mass[i] * miss.mass[j] * cost(tp, tp + miss.first + j, m, K);
        }
      return sum;
    });
  };

  const first_of = (order, number) => {
    const chosen = new Uint8Array(order.length);
    for (let at = 0; at < number; at++) chosen[order[at]] = 1;
    return chosen;
  };
  const falling = (values) => [...values.keys()].sort((a, b) => values[b] - values[a]); // ties stay in their order

  // Prices: what is predicted gains p · fn − (1 − p) · fp, each label for itself.
  const for_prices = (p, fn, fp, most) => {
    if (most === null)
      return Uint8Array.from(p, (one, k) => (one > (fn[k] + fp[k] > 0 ? fp[k] / (fn[k] + fp[k]) : 1) ? 1 : 0));
    const gains = p.map((one, k) => one * fn[k] - (1 - one) * fp[k]);
    return first_of(falling(gains), Math.min(most, gains.filter((gain) => gain > 0).length));
  };
  const expected_price = (p, decided, fn, fp) => {
    let missed = 0, alarms = 0;
    p.forEach((one, k) => {
      const both = one * decided[k];
      missed += (one - both) * fn[k];
      alarms += (decided[k] - both) * fp[k];
    });
    return missed + alarms;
  };

  // Thresholds of costs that have one, whatever labels have to do with each other.
  const THRESHOLDS = {
    hamming: () => () => 0.5,
    rank: (p) => {
      const mean = p.reduce((sum, one) => sum + one, 0) / p.length;
      return (one) => (Math.abs(one - mean) <= 1e-12 * Math.abs(mean) ? 0.5 : mean);
    },
  };

  // Costs of counts: the best of the prefixes of the labels sorted by probability, the shortest of those that are equal.
  const for_counts = (p, name, most, abstain) => {
    const order = falling(p), sorted = order.map((k) => p[k]);
    if (most === null && name in THRESHOLDS) {
      const threshold = THRESHOLDS[name](p), decided = Uint8Array.from(p, (one) => (one > threshold(one) ? 1 : 0));
      const size = decided.reduce((sum, one) => sum + one, 0);
      return { decided, expected: abstain === null ? NaN : prefix_costs(sorted, COSTS[name])[size] };
    }
    const costs = prefix_costs(sorted, COSTS[name]);
    const allowed = costs.slice(0, (most ?? p.length) + 1), least = Math.min(...allowed);
    const size = allowed.findIndex((cost) => cost <= least + TIE * Math.abs(least));
    return { decided: first_of(order, size), expected: costs[size] };
  };

  // terms: { cost: "prices" or a name, fn, fp: prices, most: labels a row or null, abstain: price or null,
  //          factor: what expected prices are multiplied by }
  const decide = (p, { cost, fn, fp, most, abstain, factor }) => {
    let found;
    if (cost === "prices") {
      const decided = for_prices(p, fn, fp, most);
      found = { decided, expected: factor * expected_price(p, decided, fn, fp) };
    } else found = for_counts(p, cost, most, abstain);
    return { ...found, over: abstain !== null && found.expected > abstain };
  };

  // What labels cost that were predicted.
  const paid = (truth, decided, { cost, fn, fp }) => {
    let sum = 0, tp = 0, s = 0, m = 0;
    truth.forEach((one, k) => {
      sum += one > decided[k] ? fn[k] : one < decided[k] ? fp[k] : 0;
      tp += one & decided[k];
      s += one;
      m += decided[k];
    });
    return cost === "prices" ? sum : COSTS[cost](tp, s, m, truth.length);
  };

  return { decide, paid };
})();
