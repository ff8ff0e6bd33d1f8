"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures"), map = read("map-data"), colours = read("colours");
  const variable = Object.fromEntries(Object.entries(colours).map(([name, colour]) => [colour, `--${name}`]));
  const config = { displayModeBar: false, responsive: true, showTips: false };
  const MAP = "label-map", ROLES = ["truth", "prediction"], TRACE = { truth: 1, prediction: 2, names: 3 };
  const WIDTH = { [MAP]: 670, "labels-figure": 670 }; // on paper, where the page is laid out only after this script
  const state = { role: "both", query: "" };
  let printing = false;

  // Colours of the figures are those of the page: each known colour is looked up again whenever light turns to dark.
  const themed = (value, style) =>
    Array.isArray(value) ? value.map((one) => themed(one, style))
      : value && typeof value === "object"
        ? Object.fromEntries(Object.entries(value).map(([key, one]) =>
            [key, ["x", "y", "text", "hovertext", "ticktext"].includes(key) ? one : themed(one, style)]))
        : Object.hasOwn(variable, value)
          ? (printing ? value : style.getPropertyValue(variable[value]).trim()) : value;

  const draw = (id) => {
    const place = document.getElementById(id);
    const figure = themed(figures[id], getComputedStyle(document.documentElement));
    figure.layout.autosize = !printing;
    if (printing) figure.layout.width = WIDTH[id] ?? 320;
    figure.layout.dragmode = id === MAP && matchMedia("(hover: hover) and (pointer: fine)").matches ? "zoom" : false;
    if (!figure.layout.dragmode)
      for (const name of Object.keys(figure.layout).filter((key) => /^[xy]axis/.test(key)))
        figure.layout[name].fixedrange = true; // a finger on a figure scrolls the page
    if (id === MAP) {
      figure.layout.showlegend = printing; // on the screen the controls are the legend
      if (printing) figure.layout.height = 480;
      else {
        delete figure.layout.height; // that of its place
        figure.layout.margin.t = 16;
      }
      chosen(figure, place);
    }
    return Plotly.react(place, figure.data, figure.layout, config);
  };

  const words = () => state.query.toLowerCase().split(",").map((word) => word.trim()).filter(Boolean);
  const matching = () => map.sets.map((set) =>
    words().every((word) => set.some((name) => name.toLowerCase().includes(word))));

  // Apply role and filter to the map's figure.
  const chosen = (figure, place) => {
    const matches = matching();
    const [width, height] = printing ? [WIDTH[MAP], 480] : [place.clientWidth, place.clientHeight];
    const small = Math.min(1, 0.35 + width / 1000); // points shrink on a phone, though less than the map does
    for (const role of ROLES) {
      const trace = figure.data[TRACE[role]];
      trace.marker.size = trace.marker.size.map((size) => size * small);
      trace.visible = state.role === "both" || state.role === role;
      trace.marker.opacity = matches.map((match) => (match ? 0.75 : 0.06));
    }
    const named = figure.data[TRACE[state.role === "prediction" ? "prediction" : "truth"]];
    Object.assign(figure.data[TRACE.names], { x: named.x, y: named.y, marker: { size: named.marker.size, opacity: 0 },
      text: written(figure, named, matches, width, height) });
  };

  // Names beside points, the most frequent first, as far as there is room at this width.
  const written = (figure, trace, matches, width, height) => {
    const both = ROLES.map((role) => figure.data[TRACE[role]]);
    const span = (axis) => {
      const all = both.flatMap((one) => one[axis]);
      return Math.max(Math.max(...all) - Math.min(...all), 1e-9);
    };
    const scale = 0.86 * Math.min(width / span("x"), (height - 44) / span("y"));
    const boxes = [], shown = both.filter((one) => one.visible);
    const size = (i) => trace.marker.size[i] / 2;
    return trace.x.map((x, i) => {
      const name = map.sets[i].join(", ") || "no label";
      const text = name.length > 26 ? name.slice(0, 25) + "…" : name;
      const half = 3.2 * text.length + 4, across = x * scale, up = trace.y[i] * scale + size(i);
      const box = [across - half, up, across + half, up + 15];
      const free = boxes.every((other) =>
        other[2] < box[0] || other[0] > box[2] || other[3] < box[1] || other[1] > box[3]);
      for (const one of matches[i] ? shown : [])
        boxes.push([one.x[i] * scale - size(i), one.y[i] * scale - size(i), one.x[i] * scale + size(i), one.y[i] * scale + size(i)]);
      if (!matches[i] || !free) return "";
      boxes.push(box);
      return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    });
  };

  const say = () => {
    const count = matching().filter(Boolean).length;
    document.getElementById("matches").textContent =
      words().length ? `${count} of ${map.sets.length} label sets` : "";
  };

  // Lines from a point to what is nearest by cost, in the other role if that is shown.
  const link = (event) => {
    const { curveNumber, pointNumber } = event.points[0];
    const role = ROLES.find((one) => TRACE[one] === curveNumber);
    if (!role) return;
    const other = state.role === "both" ? ROLES.find((one) => one !== role) : role;
    const from = figures[MAP].data[curveNumber], to = figures[MAP].data[TRACE[other]];
    const ends = (axis) => map.near[role][pointNumber].flatMap((near) => [from[axis][pointNumber], to[axis][near], null]);
    Plotly.restyle(MAP, { x: [ends("x")], y: [ends("y")] }, [0]);
  };
  const unlink = () => Plotly.restyle(MAP, { x: [[]], y: [[]] }, [0]);

  const drawAll = () => Promise.all(Object.keys(figures).map(draw));
  drawAll().then(() => {
    if (map) {
      const place = document.getElementById(MAP);
      place.on("plotly_hover", link);
      place.on("plotly_unhover", unlink);
      place.on("plotly_click", link); // a tap on a phone draws them too
      for (const input of document.querySelectorAll("input[name=role]"))
        input.addEventListener("change", () => { state.role = input.value; draw(MAP); });
      const filter = document.getElementById("filter");
      filter.form.addEventListener("submit", (event) => event.preventDefault()); // Enter does not load the page anew
      filter.addEventListener("input", (event) => {
        state.query = event.target.value;
        say();
        draw(MAP);
      });
    }
    document.documentElement.dataset.ready = "true";
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", () => {
    printing = true;
    for (const part of document.querySelectorAll("details")) { part.dataset.was = part.open; part.open = true; }
    drawAll();
  });
  addEventListener("afterprint", () => {
    printing = false;
    for (const part of document.querySelectorAll("details")) part.open = part.dataset.was === "true";
    drawAll();
  });
})();
