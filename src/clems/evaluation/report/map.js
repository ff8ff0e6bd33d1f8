"use strict";
// The label map: laid out for the width of its place; roles, filter, zoom, and lines to what is nearest by cost.
(() => {
  const map = JSON.parse(document.getElementById("map-data").textContent);
  const place = document.getElementById("label-map");
  if (!map || !place) return;
  const SVG = "http://www.w3.org/2000/svg", ROLES = ["truth", "prediction"], STEP = 1.6, FIRST = 12;
  const HEIGHT = [300, place.classList.contains("low") ? 400 : 640]; // pixels, at least and at most
  const svg = place.querySelector("svg"), tip = document.getElementById("map-tip");
  const make = (name, into, look) => {
    const one = document.createElementNS(SVG, name);
    one.setAttribute("class", look);
    into.append(one);
    return one;
  };
  const points = Object.fromEntries(ROLES.map((role) => [role, [...svg.querySelectorAll(`.point.${role}`)]]));
  const sets = map.sets.map((set) => set.map((label) => map.labels[label]));
  const called = (i, longest) => {
    const name = sets[i].join(", ") || "no label";
    return name.length > longest ? name.slice(0, longest - 1) + "…" : name;
  };
  const hint = (role, i) => [
    called(i, 64),
    `as the ${role}; ${map.frequency[i].toLocaleString("en-US")} of ${map.total.toLocaleString("en-US")} training rows`,
    `nearest ${role === "truth" ? "predictions" : "truths"} by cost:`,
    ...map.near[role][i].map((near, at) => `${map.cost[role][i][at]}  ${called(near, 64)}`),
  ].join("\n");
  const size = points.truth.map((one) => Number(one.querySelector("circle").getAttribute("r")));
  const links = make("g", svg, "links"), names = make("g", svg, "names");
  svg.prepend(links);
  const ends = [0, 1].map((axis) => {
    const all = ROLES.flatMap((role) => map[role].map((at) => at[axis]));
    return [Math.min(...all), Math.max(...all)];
  });
  const whole = () => ({ zoom: 1, centre: ends.map(([low, high]) => (low + high) / 2) });
  const state = { role: "both", query: "", ...whole() };

  const words = () => state.query.toLowerCase().split(",").map((word) => word.trim()).filter(Boolean);
  const matching = () => sets.map((set) => words().every((word) => set.some((name) => name.toLowerCase().includes(word))));
  const seen = (role) => state.role === "both" || state.role === role;

  let scale = 1, width = 0, height = 0;
  const at = (role, i) => {
    const [x, y] = map[role][i];
    return [(x - state.centre[0]) * scale + width / 2, (state.centre[1] - y) * scale + height / 2];
  };
  const lay_out = () => {
    const matches = matching();
    const span = ends.map(([low, high]) => Math.max(high - low, 1e-9));
    width = place.clientWidth;
    if (!width) return;
    height = Math.round(Math.min(HEIGHT[1], Math.max(HEIGHT[0], (0.86 * width * span[1]) / span[0] + 60)));
    place.style.height = `${height + 2}px`; // with its frame
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    scale = 0.86 * Math.min(width / span[0], (height - 44) / span[1]) * state.zoom;
    const small = Math.min(1, 0.35 + width / 1000); // points shrink on a phone, though less than the map does
    for (const role of ROLES)
      points[role].forEach((one, i) => {
        const [x, y] = at(role, i);
        one.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${small.toFixed(3)})`);
        one.toggleAttribute("hidden", !seen(role));
        one.classList.toggle("dim", !matches[i]);
      });
    write(matches, small);
    unlink();
  };

  // Names beside points, the most frequent first, as far as there is room at this width: clear of other names and, but
  // for the most frequent, of points.
  const write = (matches, small) => {
    const role = state.role === "prediction" ? "prediction" : "truth", taken = [];
    const discs = ROLES.filter(seen).flatMap((one) => sets.flatMap((_, i) => {
      const [x, y] = at(one, i), r = size[i] * small;
      return matches[i] ? [{ i, box: [x - r, y - r, x + r, y + r] }] : [];
    }));
    const apart = (a, b) => a[2] < b[0] || b[2] < a[0] || a[3] < b[1] || b[3] < a[1];
    names.replaceChildren();
    sets.forEach((_, i) => {
      if (!matches[i]) return;
      const text = called(i, 26);
      const r = size[i] * small, [x, y] = at(role, i), half = 3.3 * text.length + 3;
      const tried = [[x, y - r - 5], [x, y + r + 14], [x + r + 3 + half, y + 4], [x - r - 3 - half, y + 4]];
      const free = tried.find(([a, b]) => {
        const box = [a - half, b - 11, a + half, b + 3];
        const inside = box[0] > 0 && box[2] < width && box[1] > 0 && box[3] < height;
        return inside && taken.every((other) => apart(box, other))
          && discs.every((disc) => (i < FIRST && disc.i >= FIRST) || apart(box, disc.box))
          && (taken.push(box), true);
      });
      if (!free) return;
      const line = make("text", names, "name");
      line.textContent = text;
      line.setAttribute("x", free[0].toFixed(1));
      line.setAttribute("y", free[1].toFixed(1));
    });
  };

  // A hint, and lines from a point to what is nearest by cost, in the other role if that is shown.
  const link = (one) => {
    const role = ROLES.find((name) => one.classList.contains(name)), i = points[role].indexOf(one);
    const other = state.role === "both" ? ROLES.find((name) => name !== role) : role;
    const [x, y] = at(role, i);
    links.replaceChildren();
    for (const near of map.near[role][i]) {
      const line = make("line", links, "link"), [x2, y2] = at(other, near);
      for (const [name, value] of Object.entries({ x1: x, y1: y, x2, y2 })) line.setAttribute(name, value.toFixed(1));
    }
    tip.textContent = hint(role, i);
    tip.hidden = false;
    const below = width < 600 && y < height / 2; // in the corner that is furthest, so that it covers nothing near
    tip.style.left = `${x < width / 2 ? Math.max(0, width - tip.offsetWidth - 12) : 12}px`;
    tip.style.top = `${below ? Math.max(0, height - tip.offsetHeight - 12) : 12}px`;
  };
  const unlink = () => {
    links.replaceChildren();
    tip.hidden = true;
  };

  const say = () => {
    const count = matching().filter(Boolean).length;
    document.getElementById("matches").textContent = words().length ? `${count} of ${sets.length} label sets` : "";
  };
  const point_of = (event) => event.target.closest?.(".point");
  svg.addEventListener("pointerover", (event) => { if (point_of(event)) link(point_of(event)); });
  svg.addEventListener("pointerout", (event) => { if (point_of(event) && event.pointerType === "mouse") unlink(); });
  svg.addEventListener("click", (event) => (point_of(event) ? link(point_of(event)) : unlink())); // a tap on a phone

  for (const input of document.querySelectorAll("input[name=role]"))
    input.addEventListener("change", () => { state.role = input.value; lay_out(); });
  const filter = document.getElementById("filter");
  filter.form.addEventListener("submit", (event) => event.preventDefault()); // Enter does not load the page anew
  filter.addEventListener("input", () => { state.query = filter.value; say(); lay_out(); });

  const zooms = { "zoom-in": () => { state.zoom *= STEP; }, "zoom-out": () => { state.zoom /= STEP; }, "zoom-whole": () => Object.assign(state, whole()) };
  for (const [id, zoom] of Object.entries(zooms))
    document.getElementById(id).addEventListener("click", () => {
      zoom();
      if (state.zoom <= 1.001) Object.assign(state, whole());
      lay_out();
    });
  let from = null; // where a mouse began to drag; a finger scrolls the page
  svg.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && state.zoom > 1) from = [event.clientX, event.clientY]; });
  addEventListener("pointermove", (event) => {
    if (!from) return;
    state.centre[0] -= (event.clientX - from[0]) / scale;
    state.centre[1] += (event.clientY - from[1]) / scale;
    from = [event.clientX, event.clientY];
    lay_out();
  });
  addEventListener("pointerup", () => { from = null; });
  new ResizeObserver(lay_out).observe(place);
  lay_out();
})();
