// Lets the picture above an output answer the pointer and the keyboard. touch.go describes the data d; positions of
// marks are in 2000ths of the axes.
(at, d) => {
  at.closest(".jp-OutputArea-child")?.style.setProperty("display", "none"); // the output itself shows nothing
  const img = [...document.images].filter((i) => i.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING).at(-1);
  if (!img) return;
  const make = (parent, name, attributes = {}, text = "") => {
    const space = /^(svg|g|path|rect|circle|text|image)$/.test(name) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
    const element = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    parent?.append(element);
    return element;
  };

  // --- data

  const one = 2000;
  const along = (low, high, share) => low + share / one * (high - low);
  const value = ({ r: [low, high], g, s }, share) => g ? low * (high / low) ** (share / one) :
    s ? s * Math.sinh(along(Math.asinh(low / s), Math.asinh(high / s), share)) : along(low, high, share);
  const number = (v, [low, high]) => {
    const step = 10 ** Math.ceil(Math.log10(Math.abs(high - low) / one || 1));
    const rounded = Number((Math.abs(v) < step ? v : Math.round(v / step) * step).toPrecision(4)), size = Math.abs(rounded);
    const [unit, suffix] = size < 1e4 ? [1, ""] : [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([u]) => size >= u); // as on axes
    return String(Number((rounded / unit).toPrecision(4))).replace("-", "−") + suffix;
  };
  const sums = (list) => list.map((x, i) => list[i] = i ? [x[0] + list[i - 1][0], x[1] + list[i - 1][1]] : x);
  for (const p of d.p) {
    const [left, top, right, bottom] = p.a;
    p.size = [right - left, bottom - top];
    p.at = ([x, y]) => [left + x / one * p.size[0], bottom - y / one * p.size[1]];
    for (const m of p.m ?? []) {
      m.lines = m.p.map((line, k) => {
        const band = m.b && sums(m.b[k]);
        return sums(line).map((share, i) => ({
          at: p.at(share), x: value(p.x, share[0]), y: value(p.y, share[1]), band: band?.[i].map((y) => value(p.y, y)),
        }));
      });
      m.points = m.lines.flat();
    }
    const c = p.c;
    if (!c) continue;
    c.shares = d.s[c.s];
    c.sites = c.shares.map(([x, y]) => [x * c.d[0], y * c.d[1]]); // distances are those of descriptors
    c.time = c.f.length - 1;
    c.value = (i) => c.f[c.time][i] ? c.r[0] + (c.f[c.time][i] - 1) / 998 * (c.r[1] - c.r[0]) : null;
  }

  // polygon returns the cell of site i: the map, cut by the bisectors to all other sites.
  function polygon(p, i) {
    const { sites, d: [w, h] } = p.c, [x, y] = sites[i];
    let cell = [[0, 0], [one * w, 0], [one * w, one * h], [0, one * h]], reach = Infinity;
    for (const [u, v] of sites) {
      const a = u - x, b = v - y, far = a * a + b * b;
      if (far === 0 || far > reach) continue;
      const side = (q) => (q[0] - x) * a + (q[1] - y) * b - far / 2;
      cell = cell.flatMap((q, k) => {
        const next = cell[(k + 1) % cell.length], s = side(q), t = side(next), cut = s / (s - t);
        return [...(s <= 0 ? [q] : []), ...(s * t < 0 ? [[q[0] + cut * (next[0] - q[0]), q[1] + cut * (next[1] - q[1])]] : [])];
      });
      reach = 4 * Math.max(...cell.map((q) => (q[0] - x) ** 2 + (q[1] - y) ** 2));
    }
    return path(cell.map(([u, v]) => p.at([u / w, v / h]))) + "Z";
  }
  const path = (points) => "M" + points.map((q) => q.map((x) => x.toFixed(2))).join("L");

  // --- elements

  const box = make(null, "span", { style: "position:relative;display:inline-block;max-width:100%;line-height:0" });
  const group = make(null, "div", { class: "qdnb-figure" });
  img.before(group);
  group.append(box);
  box.append(img);
  const view = make(box, "svg", {
    viewBox: `0 0 ${d.w} ${d.h}`, preserveAspectRatio: "none", tabindex: 0, role: "application",
    "aria-roledescription": "figure", "aria-label": `${d.t}. Arrow keys read its values; Page Down is the next panel.`,
    style: "position:absolute;inset:0;width:100%;height:100%;touch-action:pan-y;cursor:crosshair",
  });
  const past = make(view, "g"), marked = make(view, "g");
  const tip = make(box, "div", { style: "position:absolute;display:none;pointer-events:none;z-index:1;max-width:min(17em,50% - 12px);box-sizing:border-box;" +
    "padding:.4em .6em;border-radius:4px;background:#1d2126;color:#fff;font:12px/1.4 system-ui,sans-serif;white-space:pre-line;width:max-content;box-shadow:0 1px 4px #0006" });
  const spoken = make(group, "div", { role: "status", style: "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)" });

  // --- what is selected: a panel p, and cell i of its map or point i of its mark m

  let selected = null;

  function lines({ p, m, i }) {
    if (p.c) {
      const v = p.c.value(i), at = p.c.shares[i];
      return [`cell ${i}`, v === null ? "empty" : `${p.c.n} ${number(v, p.c.r)}`,
        ...[p.x, p.y].map((axis, k) => axis.n && `${axis.n} ${number(value(axis, at[k]), axis.r)}`)];
    }
    if (m.v) return [m.n, m.v];
    const q = m.points[i];
    return [m.n, `${p.x.n} ${number(q.x, p.x.r)}`, `${p.y.n} ${number(q.y, p.y.r)}` +
      (q.band ? ` (${q.band.map((x) => number(x, p.y.r)).join(" to ")})` : "")];
  }

  function select(s, aloud) {
    selected = s;
    marked.replaceChildren();
    tip.style.display = s ? "" : "none";
    if (!s) return;
    const axes = (p) => JSON.stringify([p.x, p.y]);
    for (const p of d.p) {
      if (s.p.c && p.c?.s === s.p.c.s && axes(p) === axes(s.p)) { // the cell in all maps of these cells
        const cell = polygon(p, s.i);
        make(marked, "path", { d: cell, fill: "none", stroke: "#fff", "stroke-width": 2.6 });
        make(marked, "path", { d: cell, fill: "none", stroke: "#111", "stroke-width": 1.2 });
      }
      const same = (p.m ?? []).filter((m) => m.n === s.m?.n && !m.v);
      if (!same.length || p.m.length < 2 && p !== s.p) continue;
      const [x, y] = p.a;
      make(marked, "rect", { x, y, width: p.size[0], height: p.size[1], fill: "#fff", opacity: .6 });
      for (const line of (p === s.p ? [s.m] : same).flatMap((m) => m.lines))
        make(marked, "path", { d: path(line.map((q) => q.at)), fill: "none", stroke: s.m.c, "stroke-width": 2, "stroke-linejoin": "round" });
    }
    const at = s.p.c ? s.p.at(s.p.c.shares[s.i]) : s.m.points[s.i].at;
    if (s.m) make(marked, "circle", { cx: at[0], cy: at[1], r: 3, fill: s.m.c, stroke: "#fff" });
    const [head, ...rest] = lines(s).filter(Boolean), place = [at[0] / d.w, at[1] / d.h];
    tip.replaceChildren(make(null, "b", {}, head), "\n" + rest.join("\n"));
    tip.style.left = tip.style.right = tip.style.top = tip.style.bottom = "";
    tip.style[place[0] < .5 ? "left" : "right"] = `calc(${100 * (place[0] < .5 ? place[0] : 1 - place[0])}% + 12px)`;
    tip.style[place[1] < .5 ? "top" : "bottom"] = `calc(${100 * (place[1] < .5 ? place[1] : 1 - place[1])}% + 12px)`;
    if (aloud) spoken.textContent = [s.p.t, head, ...rest].filter(Boolean).join(", ");
  }

  // nearest returns the index with the least distance, and undefined of none.
  const nearest = (list, distance) => list.reduce((best, x, i) => {
    const to = distance(x, i);
    return to < best[0] ? [to, i] : best;
  }, [Infinity])[1];
  const between = ([x, y], [u, v]) => Math.hypot(x - u, y - v);
  const toLine = (q, line) => Math.min(...line.map(({ at: [x, y] }, k) => {
    const [u, v] = line[k + 1]?.at ?? [x, y], length = (u - x) ** 2 + (v - y) ** 2;
    const t = length && Math.min(Math.max(((q[0] - x) * (u - x) + (q[1] - y) * (v - y)) / length, 0), 1);
    return between(q, [x + t * (u - x), y + t * (v - y)]);
  }));

  // under returns what is at a point of the picture.
  function under(q) {
    const p = d.p.find(({ a }) => q[0] >= a[0] - 4 && q[0] <= a[2] + 4 && q[1] >= a[1] - 4 && q[1] <= a[3] + 4);
    if (!p) return null;
    if (p.c) return { p, i: nearest(p.c.shares, (s) => between(scaled(p, q), scaled(p, p.at(s)))) };
    const m = p.m[nearest(p.m, (m) => Math.min(...m.lines.map((line) => toLine(q, line))))];
    return m && { p, m, i: nearest(m.points, ({ at }) => between(at, q)) };
  }
  const scaled = (p, [x, y]) => [x / p.size[0] * p.c.d[0], y / p.size[1] * p.c.d[1]];
  const first = (p) => p.c ? { p, i: p.c.f[p.c.time].findIndex(Boolean) } : { p, m: p.m[0], i: p.m[0].points.length - 1 };

  function move(s, [x, y]) {
    if (s.p.c) { // the nearest cell of those within 45 degrees
      const from = s.p.at(s.p.c.shares[s.i]);
      const i = nearest(s.p.c.shares, (share) => {
        const [u, v] = s.p.at(share), along = (u - from[0]) * x - (v - from[1]) * y, across = Math.abs((u - from[0]) * y + (v - from[1]) * x);
        return along > 0 && across <= along ? along + across : Infinity;
      });
      return i === undefined ? s : { ...s, i };
    }
    if (x) return { ...s, i: Math.min(Math.max(s.i + x, 0), s.m.points.length - 1) };
    const m = s.p.m[(s.p.m.indexOf(s.m) - y + s.p.m.length) % s.p.m.length];
    return { ...s, m, i: nearest(m.points, ({ at }) => Math.abs(at[0] - s.m.points[s.i].at[0])) };
  }

  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  view.addEventListener("keydown", (e) => {
    const turn = (by) => first(d.p[(d.p.indexOf(selected?.p ?? d.p.at(-by)) + by + d.p.length) % d.p.length]);
    const next = e.key === "Escape" ? null : e.key === "PageDown" ? turn(1) : e.key === "PageUp" ? turn(-1)
      : steps[e.key] ? (selected ? move(selected, steps[e.key]) : first(d.p[0])) : undefined;
    if (next === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation(); // the notebook would select another cell
    select(next, true);
  });
  const pointed = (e) => {
    const r = view.getBoundingClientRect();
    select(under([(e.clientX - r.x) / r.width * d.w, (e.clientY - r.y) / r.height * d.h]));
  };
  for (const type of ["pointermove", "pointerdown"]) view.addEventListener(type, pointed);
  view.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") select(null); });
  view.addEventListener("blur", () => select(null));

  // --- earlier states of a map

  const p = d.p.find(({ c }) => c?.k.length > 1);
  if (!p) return;
  const c = p.c, last = c.time;
  const row = make(group, "label", { style: "display:flex;gap:.8em;align-items:center;max-width:100%;font:13px system-ui,sans-serif" });
  const slider = make(row, "input", { type: "range", min: 0, max: last, step: 1, "aria-label": "time of the map", style: "flex:0 1 16em;min-width:6em" });
  const shown = make(row, "span", { "aria-hidden": true });
  slider.value = last;
  const color = (v) => {
    const t = Math.min(Math.max((v - c.b[0]) / (c.b[1] - c.b[0]), 0), 1), k = v === null ? 0 : 1 + Math.round(255 * t);
    return "#" + c.l.slice(6 * k, 6 * k + 6);
  };
  let cells = [], heading = null;
  const travel = () => {
    c.time = Number(slider.value);
    shown.textContent = c.k[c.time];
    slider.setAttribute("aria-valuetext", c.k[c.time]);
    past.style.display = c.time < last ? "" : "none";
    if (heading) heading.textContent = c.k[last].replace(/[^,]*$/, (time) => (time === c.k[last] ? "" : " ") + c.k[c.time]);
    cells.forEach((cell, i) => {
      const v = c.value(i);
      cell.setAttribute("fill", color(v));
      cell.setAttribute("stroke", v === null ? "#c8c8c8" : color(v));
    });
    if (selected) select(selected);
  };
  travel();
  slider.addEventListener("input", () => {
    cells = c.sites.map((_, i) => make(past, "path", { d: polygon(p, i), "stroke-width": .3 }));
    make(past, "image", { href: "data:image/svg+xml," + encodeURIComponent(c.o), width: d.w, height: d.h });
    if (d.p.length > 1 || !p.t) return;
    make(past, "rect", { width: d.w, height: p.a[1] - 4, fill: "#ffffff" }); // the title in the picture names the latest time
    heading = make(past, "text", { x: p.a[0] + p.size[0] / 2, y: p.a[1] - 6, "text-anchor": "middle", fill: "#262626", style: "font:10px Liberation Sans,Arial,sans-serif" });
  }, { once: true });
  slider.addEventListener("input", travel);
}
