// The index: a map of a repertoire, or a list.

const svgNS = "http://www.w3.org/2000/svg";

export function number(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  const text = size >= 1e5 || (size > 0 && size < 1e-3) ? x.toPrecision(4) : size >= 1000 ? x.toFixed(0) : size >= 100 ? x.toFixed(1) : size >= 10 ? x.toFixed(2) : x.toFixed(3);
  return text.replaceAll("-", "−");
}

// capital returns a label as figures write it: names of one letter stay.
const capital = (label) => /^\p{L}{2}/u.test(label) ? label[0].toUpperCase() + label.slice(1) : label;

export class Index {
  constructor(known, place, onPoint, onChoose) {
    this.known = known;
    this.place = place;
    this.onPoint = onPoint;
    this.onChoose = onChoose;
    this.chosen = -1;
  }

  color(fitness) {
    const { range, palette } = this.known;
    if (fitness === null || !range) return null;
    const i = Math.round(Math.min(Math.max((fitness - range[0]) / (range[1] - range[0]), 0), 1) * 255);
    return "#" + palette.slice(6 * i, 6 * i + 6);
  }

  playable(i) { return i >= 0 && this.known.entries[i].m >= 0; }
}

export class List extends Index {
  draw() {
    const list = document.createElement("ol");
    list.tabIndex = 0;
    list.setAttribute("aria-label", this.known.what + "s by fitness; use the up and down arrow keys to select");
    const { entries, what } = this.known;
    const dims = Math.max(...entries.map((e) => e.d?.length ?? 0));
    const low = [], high = [];
    for (let d = 0; d < dims; d++) {
      low[d] = Math.min(0, ...entries.filter((e) => e.d).map((e) => e.d[d]));
      high[d] = Math.max(...entries.filter((e) => e.d).map((e) => e.d[d]));
    }
    this.rows = entries.map((e, i) => {
      const row = document.createElement("li");
      row.dataset.entry = i;
      if (e.m < 0) row.classList.add("filmless");
      const name = document.createElement("span");
      name.className = "of";
      name.textContent = `${what} ${e.n}`;
      name.style.borderColor = this.color(e.f) ?? "var(--empty)";
      const fitness = document.createElement("span");
      fitness.className = "fitness";
      fitness.textContent = number(e.f);
      const bars = document.createElement("span");
      bars.className = "bars";
      for (let d = 0; d < (e.d?.length ?? 0); d++) {
        const bar = document.createElement("i");
        bar.style.height = `${high[d] > low[d] ? 100 * (e.d[d] - low[d]) / (high[d] - low[d]) : 50}%`;
        bar.title = `${this.known.names[d] ?? "descriptor " + (d + 1)}: ${number(e.d[d])}`;
        bars.append(bar);
      }
      row.append(name, fitness, bars);
      row.addEventListener("pointerenter", () => this.onPoint(i));
      row.addEventListener("pointerleave", () => this.onPoint(-1));
      row.addEventListener("click", () => this.onChoose(i));
      list.append(row);
      return row;
    });
    list.addEventListener("keydown", (e) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (!by) return;
      e.preventDefault();
      e.stopPropagation();
      for (let i = this.chosen + by; i >= 0 && i < entries.length; i += by) {
        if (this.playable(i)) {
          this.onChoose(i);
          break;
        }
      }
    });
    this.place.replaceChildren(list);
  }

  resize() {}

  point() {}

  choose(i) {
    this.rows[this.chosen]?.classList.remove("chosen");
    this.chosen = i;
    this.rows[i]?.classList.add("chosen");
    this.rows[i]?.scrollIntoView({ block: "nearest" });
  }
}

function make(name, attributes, ...children) {
  const e = document.createElementNS(svgNS, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
}

export class RepertoireMap extends Index {
  draw() {
    const { entries } = this.known;
    const shape = (p) => {
      let d = "";
      for (let i = 0; i < p.length; i += 2) d += (i ? "L" : "M") + p[i] + " " + p[i + 1];
      return d + "Z";
    };
    this.outline = entries.map((e) => e.p ? shape(e.p) : "");
    this.centers = entries.map((e) => {
      const p = e.p ?? [];
      let x = 0, y = 0;
      for (let i = 0; i < p.length; i += 2) {
        x += p[i];
        y += p[i + 1];
      }
      return [2 * x / p.length, 2 * y / p.length];
    });
    this.cells = make("g", { id: "cells" });
    entries.forEach((e, i) => {
      if (!this.outline[i]) return;
      const path = make("path", { d: this.outline[i], "data-entry": i });
      const color = this.color(e.f);
      if (color) path.style.fill = color;
      path.classList.toggle("empty", !color);
      path.classList.toggle("filmless", Boolean(color) && e.m < 0);
      this.cells.append(path);
    });
    this.walls = make("g", { class: "wall" }, ...(this.known.map.Walls ?? []).map(([x, y, u, v]) => make("rect", { x, y, width: u - x, height: v - y })));
    if (entries.length > 400) this.cells.style.setProperty("--gap", .3);
    this.marks = ["pointed", "chosen-under", "chosen"].map((id) => make("path", { id, class: "mark" }));
    this.dots = make("g", {});
    this.axes = make("g", {});
    this.over = make("g", {}, ...this.marks);
    this.svg = make("svg", { tabindex: 0, role: "application", "aria-label": "repertoire map; use the arrow keys to select a neighbouring cell" },
      this.cells, this.walls, this.over, this.dots, this.axes);
    this.place.replaceChildren(this.svg);
    const at = (e) => {
      const hit = e.target.closest?.("[data-entry]");
      return hit ? Number(hit.dataset.entry) : -1;
    };
    this.svg.addEventListener("pointermove", (e) => { if (e.pointerType !== "touch") this.onPoint(at(e)); });
    this.svg.addEventListener("pointerleave", () => this.onPoint(-1));
    this.svg.addEventListener("click", (e) => { if (at(e) >= 0) this.onChoose(at(e)); });
    this.svg.addEventListener("keydown", (e) => {
      const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
      if (!direction) return;
      e.preventDefault();
      e.stopPropagation();
      const to = this.neighbour(direction);
      if (to >= 0) this.onChoose(to);
    });
  }

  // neighbour returns the nearest cell with a film in a direction; lateral distance counts double.
  neighbour([dx, dy]) {
    const from = this.centers[this.chosen] ?? [500, 500];
    let best = -1, least = Infinity;
    this.centers.forEach((c, i) => {
      if (!this.playable(i) || i === this.chosen) return;
      const along = (c[0] - from[0]) * dx + (c[1] - from[1]) * dy;
      const aside = Math.abs((c[0] - from[0]) * dy - (c[1] - from[1]) * dx);
      if (along > 0 && aside <= 2 * along && along + 2 * aside < least) {
        best = i;
        least = along + 2 * aside;
      }
    });
    return best;
  }

  // margins returns the space for axes and colour bar around the map.
  margins() {
    return { left: 52, right: 58 + 7.2 * Math.max(3, ...this.known.map.Bar.map((t) => t.text.length)), top: 10, bottom: 42 };
  }

  // aspect returns the width / height of the map, or 0 if any value is allowed.
  aspect() {
    const { Lower, Upper } = this.known.map;
    const aspect = (Upper[0] - Lower[0]) / (Upper[1] - Lower[1]);
    return aspect > 4 || aspect < .25 ? 0 : aspect; // like figures.RepertoireMap
  }

  // widthFor returns the width of the container at which a map fills its height.
  widthFor(height) {
    const { left, right, top, bottom } = this.margins();
    return left + right + (this.aspect() || 1) * Math.max(40, height - top - bottom);
  }

  resize() {
    const { map, names, range, entries } = this.known;
    const width = this.place.clientWidth, height = this.place.clientHeight;
    if (!width || !height) return;
    const { left, right, top, bottom } = this.margins();
    let w = Math.max(40, width - left - right), h = Math.max(40, height - top - bottom);
    const want = this.aspect() || Math.min(Math.max(w / h, .6), 1.6);
    if (w / h > want) w = h * want;
    else h = w / want;
    const x0 = left + Math.max(0, (width - left - right - w) / 2), y0 = top + Math.max(0, (height - top - bottom - h) / 2);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const transform = `translate(${x0} ${y0 + h}) scale(${w / 1000} ${-h / 1000})`;
    for (const group of [this.cells, this.walls, this.over]) group.setAttribute("transform", transform);
    const parts = [make("rect", { class: "frame", x: x0, y: y0, width: w, height: h })];
    const text = (x, y, anchor, content, more = {}) => parts.push(make("text", { x, y, "text-anchor": anchor, ...more }, content));
    const line = (x1, y1, x2, y2) => parts.push(make("line", { class: "frame", x1, y1, x2, y2 }));
    for (const t of map.Ticks[0]) {
      const x = x0 + w * (t.at - map.Lower[0]) / (map.Upper[0] - map.Lower[0]);
      line(x, y0 + h, x, y0 + h + 4);
      text(x, y0 + h + 15, "middle", t.text);
    }
    for (const t of map.Ticks[1]) {
      const y = y0 + h - h * (t.at - map.Lower[1]) / (map.Upper[1] - map.Lower[1]);
      line(x0 - 4, y, x0, y);
      text(x0 - 7, y + 4, "end", t.text);
    }
    text(x0 + w / 2, y0 + h + 33, "middle", capital(names[0]), { class: "name" });
    parts.push(make("text", { class: "name", "text-anchor": "middle", transform: `translate(${x0 - 37} ${y0 + h / 2}) rotate(-90)` }, capital(names[1])));
    const name = (x, y, word) => text(x + 7, y + 4, "start", word, { class: "place" });
    if (map.Start) {
      const cx = x0 + w * map.Start[0] / 1000, cy = y0 + h - h * map.Start[1] / 1000;
      parts.push(make("circle", { class: "start", cx, cy, r: 4 }));
      name(cx, cy, "start");
    }
    if (map.Goal) {
      const [a, b, c, d] = map.Goal, cx = x0 + w * (a + c) / 2000, cy = y0 + h - h * (b + d) / 2000;
      const rx = Math.max(3.5, w * (c - a) / 2000), ry = Math.max(3.5, h * (d - b) / 2000);
      for (const part of ["goal under", "goal"]) parts.push(make("rect", { class: part, x: cx - rx, y: cy - ry, width: 2 * rx, height: 2 * ry }));
      name(cx + rx - 3.5, cy, "goal");
    }
    if (range) {
      const bx = x0 + w + 12, bw = 12, [below, above] = map.Beyond.map((some) => some ? bw : 0); // triangles
      const low = y0 + h - below, high = y0 + above;
      const stops = Array.from({ length: 17 }, (_, i) => make("stop", { offset: i / 16, "stop-color": this.color(range[0] + (range[1] - range[0]) * i / 16) }));
      parts.push(make("defs", {}, make("linearGradient", { id: "viridis", gradientUnits: "userSpaceOnUse", x1: 0, y1: low, x2: 0, y2: high }, ...stops)));
      const d = `M${bx} ${low}l${bw / 2} ${below}l${bw / 2} ${-below}V${high}l${-bw / 2} ${-above}l${-bw / 2} ${above}z`;
      parts.push(make("path", { d, fill: "url(#viridis)" }), make("path", { class: "frame", d }));
      for (const t of map.Bar) {
        const y = low + (high - low) * (t.at - range[0]) / (range[1] - range[0]);
        line(bx + bw, y, bx + bw + 4, y);
        text(bx + bw + 7, y + 4, "start", t.text);
      }
      const labels = 11 + 7.2 * Math.max(...map.Bar.map((t) => t.text.length));
      parts.push(make("text", { class: "name", "text-anchor": "middle", transform: `translate(${bx + bw + labels + 12} ${y0 + h / 2}) rotate(-90)` }, capital(map.Label)));
    }
    this.axes.replaceChildren(...parts);
    // Dots mark the cells with a film, unless all filled cells have one.
    const some = entries.some((e) => e.f !== null && e.m < 0);
    const r = Math.min(2.8, Math.max(1.4, w / 140));
    this.dots.replaceChildren(...(some ? entries : []).flatMap((e, i) => e.m >= 0 && e.p
      ? [make("circle", { class: "film", cx: x0 + this.centers[i][0] * w / 1000, cy: y0 + h - this.centers[i][1] * h / 1000, r })] : []));
  }

  point(i) { this.marks[0].setAttribute("d", i >= 0 ? this.outline[i] : ""); }

  choose(i) {
    this.chosen = i;
    for (const mark of this.marks.slice(1)) mark.setAttribute("d", this.outline[i] ?? "");
  }
}
