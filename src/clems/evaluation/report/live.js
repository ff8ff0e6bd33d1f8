"use strict";
// What if, live: decides the rows that the page keeps for the prices, cost, budget and price of handing over in its fields.
(() => {
  const data = JSON.parse(document.getElementById("live-data").textContent);
  if (!data) return;
  const place = (id) => document.getElementById(id);
  const { labels, names, unit } = data, n = names.length, K = labels.length;
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const numbers = new Float64Array(bytes(data.marginals).buffer);
  const rows_of = (all) => names.map((_, row) => [...all.subarray(row * K, (row + 1) * K)]);
  const bits = (text) => {
    const packed = bytes(text);
    return rows_of(Uint8Array.from({ length: n * K }, (_, at) => (packed[at >> 3] >> (at & 7)) & 1));
  };
  const marginals = rows_of(numbers), truth = bits(data.truth), before = bits(data.decided);
  const FACTORS = [0.1, 0.2, 0.5, 1, 2, 5, 10], SHOWN = 30;
  const form = place("live"), slider = place("factor");
  const fields = (kind) => [...form.querySelectorAll(`input[data-price=${kind}]`)];
  const fn_fields = fields("fn"), fp_fields = fields("fp");
  const order = fn_fields.map((field) => Number(field.dataset.label)); // lines of the table are in an order of their own
  const base = fn_fields.map((field) => field.value); // what the slider multiplies
  const TITLES = Object.fromEntries([...form.querySelectorAll("input[name=decide-for]")]
    .map((input) => [input.value, input.closest("label").textContent.trim()]));
  const COST_NAMES = { f1: "1 − F1", accuracy: "1 − accuracy", rank: "rank loss", hamming: "Hamming loss" };

  // Numbers as the report writes them, halves to the even digit.
  const written = (value, options) => value.toLocaleString("en-US", { roundingMode: "halfEven", ...options });
  const plain = (value, digits) => written(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const number = (value) => {
    const size = Math.abs(value), text = size >= 100 ? plain(size, 0) : written(size, { maximumSignificantDigits: 3 });
    return (value < 0 && text !== "0" ? "−" : "") + text;
  };
  const amount = (value, in_unit = unit) => number(value) + (in_unit ? ` ${in_unit}` : "");
  const share = (part, whole) => (whole ? plain((100 * part) / whole, 1) + " %" : "–");
  const rows = (count) => `${plain(count, 0)} row${count === 1 ? "" : "s"}`;
  const set = (line) => labels.filter((_, k) => line[k]).join(", ") || "no label";

  // What the fields say; null if one of them cannot be read.
  const terms = () => {
    const every = [...form.querySelectorAll("input[type=number]")];
    for (const field of every) field.toggleAttribute("aria-invalid", false);
    const wrong = every.filter((field) => !field.checkValidity());
    for (const field of wrong) field.setAttribute("aria-invalid", "true");
    if (wrong.length) return null;
    const fn = new Array(K), fp = new Array(K);
    order.forEach((k, line) => {
      fn[k] = Number(fn_fields[line].value);
      fp[k] = Number(fp_fields[line].value);
    });
    const given = (id) => (place(id).value === "" ? null : Number(place(id).value));
    return { cost: form.elements["decide-for"].value, fn, fp, most: given("most"), abstain: given("abstain"),
      factor: data.paid_over_expected };
  };

  const sum = (values) => values.reduce((all, one) => all + one, 0);

  const decided = (asked) => {
    const found = marginals.map((p) => decisions.decide(p, asked));
    const paid = found.map(({ decided, over }, row) => (over ? asked.abstain : decisions.paid(truth[row], decided, asked)));
    const was = before.map((line, row) => decisions.paid(truth[row], line, asked));
    const changed = found.map(({ decided, over }, row) => over || decided.some((one, k) => one !== before[row][k]));
    return { found, paid, was, changed };
  };

  const counts = (found, k) => {
    let tp = 0, fp = 0, fn = 0;
    found.forEach(({ decided, over }, row) => {
      if (over) return;
      tp += decided[k] & truth[row][k];
      fp += decided[k] > truth[row][k];
      fn += decided[k] < truth[row][k];
    });
    return { tp, fp, fn };
  };

  let last = null;
  const show = () => {
    const asked = terms();
    if (!asked) return say("Prices and limits are numbers of at least 0, a limit of labels a whole one; nothing is computed until they are.");
    const { found, paid, was, changed } = (last = decided(asked)), is_price = asked.cost === "prices";
    last.asked = asked;
    const over = found.filter((one) => one.over).length, now = sum(paid), then = sum(was);
    const in_all = (value) => (is_price ? amount(value) : number(value / n));
    const each = labels.map((_, k) => counts(found, k));
    const [tp, fp, fn] = ["tp", "fp", "fn"].map((kind) => sum(each.map((one) => one[kind])));
    const cells = {
      paid: in_all(now),
      "paid-name": is_price ? "it would pay" : `mean ${COST_NAMES[asked.cost]}`,
      saved: in_all(then - now),
      changed: plain(sum(changed.map(Number)), 0),
      precision: share(tp, tp + fp),
      recall: share(tp, tp + fn),
      size: n > over ? plain((tp + fp) / (n - over), 2) : "–",
      over: plain(over, 0),
    };
    for (const [name, text] of Object.entries(cells)) place(`live-${name}`).textContent = text;
    for (const line of form.querySelectorAll("tr[data-label]")) {
      const k = Number(line.dataset.label), one = each[k];
      const from = asked.fn[k] + asked.fp[k] > 0 ? asked.fp[k] / (asked.fn[k] + asked.fp[k]) : 1;
      const texts = {
        from: is_price && asked.most === null ? share(from, 1) : "–",
        predicted: plain(one.tp + one.fp, 0),
        precision: share(one.tp, one.tp + one.fp),
        recall: share(one.tp, one.tp + one.fn),
        paid: is_price ? amount(one.fn * asked.fn[k] + one.fp * asked.fp[k]) : "–",
      };
      for (const [name, text] of Object.entries(texts)) line.querySelector(`[data-cell=${name}]`).textContent = text;
    }
    place("live-prices").classList.toggle("off", !is_price);
    slider.disabled = !is_price;
    for (const field of [...fn_fields, ...fp_fields]) field.disabled = !is_price;
    list_changes(found, paid, was, changed);
    const difference = then - now, how = is_price ? "At these prices" : `Decided for ${TITLES[asked.cost]}`;
    const gain = Math.abs(difference) < 1e-12 ? "no more and no less"
      : `${in_all(Math.abs(difference))} ${difference > 0 ? "more" : "less"}`;
    const others = sum(changed.map(Number)), are = others === 0 ? "No row is" : others === 1 ? "1 row is" : `${rows(others)} are`;
    say(`${how} the model pays ${in_all(now)} ${is_price ? `on ${rows(n)}` : `a row, in ${COST_NAMES[asked.cost]}`}; `
      + `its decisions as they are in this report would cost ${gain}. ${are} decided otherwise`
      + (over ? `, ${plain(over, 0)} of them handed over for ${amount(over * asked.abstain, is_price ? unit : "")} in all.` : "."));
  };

  let saying;
  const say = (text) => { // once the fields rest, so that it is read out once
    clearTimeout(saying);
    const kept = unit ? text.replaceAll(` ${unit}`, `\u00a0${unit}`) : text; // a number and its unit stay in one line
    saying = setTimeout(() => { place("live-said").textContent = kept; }, 200);
  };

  const list_changes = (found, paid, was, changed) => {
    const which = [...changed.keys()].filter((row) => changed[row]);
    which.sort((a, b) => Math.abs(was[b] - paid[b]) - Math.abs(was[a] - paid[a]));
    const in_unit = form.elements["decide-for"].value === "prices" ? unit : "";
    place("live-rows").replaceChildren(...which.slice(0, SHOWN).map((row) => {
      const line = document.createElement("tr");
      const texts = [names[row], set(truth[row]), set(before[row]), found[row].over ? "handed over" : set(found[row].decided),
        amount(was[row], in_unit), amount(paid[row], in_unit)];
      texts.forEach((text, at) => {
        const cell = document.createElement(at ? "td" : "th");
        if (!at) cell.scope = "row";
        if (at && at < 4) cell.className = "text";
        cell.textContent = text;
        line.append(cell);
      });
      return line;
    }));
    place("live-rows-said").textContent = which.length
      ? `Rows decided otherwise: ${which.length > SHOWN ? `${SHOWN} of ${plain(which.length, 0)}` : plain(which.length, 0)}`
      : "Rows decided otherwise: none";
  };

  // Files for the command: prices that `--cost` takes, and decisions.
  const cell = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // no spreadsheet takes it for a formula
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const save = (name, lines) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.map((line) => line.join(",") + "\n").join("")], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  place("save-prices").addEventListener("click", () => {
    const asked = terms();
    if (asked) save("prices.csv", [["label", "false_negative", "false_positive"],
      ...labels.map((name, k) => [cell(name), String(asked.fn[k]), String(asked.fp[k])])]);
  });
  place("save-decisions").addEventListener("click", () => {
    if (last) save("decisions.csv", [["row", ...labels, "paid"].map(cell),
      ...last.found.map(({ decided, over }, row) =>
        [cell(names[row]), ...[...decided].map((one) => (over ? "" : String(one))), String(last.paid[row])])]);
  });

  const slide = () => {
    const factor = FACTORS[slider.valueAsNumber];
    place("factor-said").textContent = `× ${factor}`;
    slider.setAttribute("aria-valuetext", `times ${factor}`);
  };
  slider.addEventListener("input", () => {
    slide();
    const factor = FACTORS[slider.valueAsNumber];
    fn_fields.forEach((field, line) => {
      field.value = factor === 1 || base[line] === "" ? base[line] : String(Number((base[line] * factor).toPrecision(12)));
    });
    show();
  });
  for (const [all, own] of [[place("all-fn"), fn_fields], [place("all-fp"), fp_fields]])
    all?.addEventListener("input", () => {
      for (const field of own) field.value = all.value;
      fn_fields.forEach((field, line) => { base[line] = field.value; });
      slider.value = 3;
      slide();
      show();
    });
  form.addEventListener("input", (event) => {
    if (event.target === slider || event.target.id.startsWith("all-")) return;
    if (event.target.dataset.price === "fn") { // what is typed is what the slider multiplies from now on
      fn_fields.forEach((field, line) => { base[line] = field.value; });
      slider.value = 3;
      slide();
    }
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    fn_fields.forEach((field, line) => { base[line] = field.value; });
    slide();
    show();
  }));
  show();
})();
