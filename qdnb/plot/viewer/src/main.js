// A page that plays skills. It contains all its data: the index, and a line of packed motion for each film.
import { List, RepertoireMap, number } from "./chart.js";
import { Motion, inflate } from "./motion.js";
import { Stage } from "./stage.js";

const $ = (id) => document.getElementById(id);
const state = document.documentElement.dataset; // for tests: film, step, playing, frames, firstFrame
const embedded = window.parent !== window;

// host is the element that holds this page in a notebook; null if there is none or access is denied.
const host = (() => {
  try {
    return window.frameElement;
  } catch {
    return null;
  }
})();

function theme() {
  // JupyterLab has its own theme.
  const lab = host?.ownerDocument?.body?.dataset?.jpThemeLight;
  const dark = lab ? lab === "false" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", dark);
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  return dark ? "dark" : "light";
}

async function main() {
  const name = theme();
  const known = JSON.parse(new TextDecoder().decode(await inflate($("known").textContent)));
  const lines = $("films").textContent.split("\n");
  const motions = new Map();
  const motionOf = (i) => {
    if (!motions.has(i)) motions.set(i, packed(i).then(inflate).then((bytes) => new Motion(bytes, known.films[i])));
    return motions.get(i);
  };

  // packed returns the line of a film. Its file calls film: a page that was opened from a disk cannot fetch.
  const waiting = new Map();
  window.film = (i, line) => waiting.get(i)(line);
  const packed = (i) => !known.folder ? Promise.resolve(lines[i]) : new Promise((resolve, reject) => {
    waiting.set(i, resolve);
    const script = document.createElement("script");
    script.src = `${known.folder}/${i}.js`;
    script.onerror = () => {
      motions.delete(i); // another try may succeed
      reject(new Error(`${script.src} cannot be loaded`));
    };
    document.head.append(script);
  });

  motionOf(known.entries[known.first].m); // starts while the stage is created

  let stage = null;
  try {
    stage = new Stage($("canvas"), embedded);
  } catch (error) {
    say("This browser does not support WebGL, so the 3D view is unavailable. All numbers are still shown.");
    console.error(error);
  }
  stage?.theme(name);
  window.viewer = { stage, motion: () => motion }; // for tests

  let entry = -1, film = null, motion = null;
  let time = 0, rate = 1, playing = !matchMedia("(prefers-reduced-motion: reduce)").matches, held = 0;
  let dirty = true, visible = true, last = 0, rendered = 0;

  const index = known.what === "" ? null : new (known.map ? RepertoireMap : List)(known, $("choice"), point, choose);
  if (index) {
    $("index").hidden = false;
    $("heading").textContent = known.title;
    index.draw();
  }

  // --- the index

  function readout(i) {
    if (!index) return;
    const e = known.entries[i >= 0 ? i : entry], place = $("readout");
    const title = document.createElement("b");
    title.textContent = `${known.what} ${e.n}`;
    const table = document.createElement("table");
    const row = (tag, ...texts) => {
      const tr = table.insertRow();
      for (const text of texts) tr.append(Object.assign(document.createElement(tag), { textContent: text }));
    };
    const note = document.createElement("div");
    note.className = "note";
    const episode = known.films[e.m];
    const empty = e.f === null && !e.d;
    if (empty) {
      title.textContent += ": empty";
    } else {
      const shown = episode && episode.f !== null;
      const both = (x, y) => shown ? [number(x), number(y)] : [number(x)];
      row("th", "", known.what === "skill" ? "evaluation mean" : known.what === "cell" ? "as archived" : "expected",
        ...(shown ? ["this episode"] : []));
      row("td", "fitness", ...both(e.f, episode?.f));
      table.rows[0].cells[0].append(title);
      (e.d ?? []).forEach((d, k) => row("td", known.names[k] ?? `descriptor ${k + 1}`, ...both(d, episode?.d?.[k])));
    }
    const filled = known.entries.filter((x) => x.f !== null).length;
    if (e.m < 0 && e.f !== null) {
      note.textContent = "This page does not include its film.";
      const near = nearest(known.entries.indexOf(e));
      if (near >= 0) {
        const go = document.createElement("button");
        go.type = "button";
        go.textContent = `Play nearby ${known.what} ${known.entries[near].n}`;
        go.addEventListener("click", () => choose(near));
        note.append(" ", go);
      }
    } else if (known.films.length < filled) {
      note.textContent = `${known.films.length} of ${filled} can be played${known.map ? " (marked with a dot)" : ""}.`;
    } else {
      note.textContent = `Click a ${known.what} to play it.`;
    }
    if (episode && e.f !== null) {
      const hint = document.createElement("div");
      hint.className = "note";
      hint.textContent = episode.archived ? "This episode starts from the archived initial state."
        : `This episode starts from a different initial state than ${known.what === "cell" ? "the archived one" : "those evaluated"}.`;
      place.replaceChildren(table, hint, note);
      return;
    }
    place.replaceChildren(empty ? title : table, note);
  }

  // nearest returns the entry with a film whose descriptor is nearest to that of entry i.
  function nearest(i) {
    const from = known.entries[i].d;
    let best = -1, least = Infinity;
    known.entries.forEach((e, k) => {
      if (e.m < 0 || !e.d || !from) return;
      const d = Math.hypot(...e.d.map((x, j) => {
        const size = known.map ? known.map.Upper[j] - known.map.Lower[j] : 1;
        return (x - from[j]) / size;
      }));
      if (d < least) {
        best = k;
        least = d;
      }
    });
    return best;
  }

  function point(i) {
    index.point(i);
    readout(i);
  }

  let wanted = -1;
  async function choose(i) {
    const e = known.entries[i];
    if (e.m < 0) {
      if (e.f !== null) point(i);
      return;
    }
    wanted = i;
    const next = await motionOf(e.m).catch((error) => say(error.message));
    if (wanted !== i || !next) return; // another entry has been chosen meanwhile
    entry = i;
    film = known.films[e.m];
    motion = next;
    time = 0;
    held = 0;
    stage?.show(film, known.sets[film.set], motion);
    const before = known.title + ", ";
    $("title").textContent = index && film.title.startsWith(before) ? film.title.slice(before.length) : film.title;
    $("subtitle").textContent = index && film.f !== null ? "this episode: " + film.subtitle : film.subtitle;
    $("caption").hidden = !film.title && !film.subtitle;
    $("scrub").max = motion.frames - 1;
    index?.choose(i);
    readout(-1);
    state.film = e.n;
    mark();
  }

  // --- time

  function mark() {
    dirty = true;
    const step = Math.floor(time + 1e-6);
    $("scrub").value = time;
    const clock = $("clock");
    const seconds = document.createElement("b");
    seconds.textContent = `${(time * film.seconds).toFixed(2)} s`;
    const steps = document.createElement("span");
    steps.textContent = `step ${step} of ${motion.frames - 1}`;
    clock.replaceChildren(seconds, steps);
    if (motion.sums) {
      const sum = document.createElement("span");
      sum.textContent = `reward so far ${number(motion.sums[step])}`;
      clock.append(sum);
    }
    state.step = step;
    state.playing = playing;
    $("play").setAttribute("aria-label", playing ? "pause" : "play");
    $("follow").setAttribute("aria-pressed", String(stage?.following ?? false));
  }

  function seek(to) {
    time = Math.min(Math.max(to, 0), motion.frames - 1);
    held = 0;
    mark();
  }

  function play(on) {
    playing = on;
    if (on && time >= motion.frames - 1) time = 0;
    held = 0;
    mark();
  }

  // If drawing is slow, dense screens get a lower resolution.
  let sharp = Math.min(devicePixelRatio || 1, 2), slow = 0;
  function spare(seconds) {
    slow = seconds > .045 ? slow + 1 : Math.max(0, slow - 1);
    if (slow < 25 || sharp <= 1) return;
    sharp = Math.max(1, sharp * .75);
    slow = 0;
    fit();
  }

  function draw(now) {
    requestAnimationFrame(draw);
    // After the browser was paused, playback resumes where it was. A frame's timestamp may precede the last clock reading.
    const passed = Math.min(Math.max(0, now - last) / 1000, .1);
    last = now;
    if (!visible || !motion) return;
    if (playing) {
      spare(passed);
      const end = motion.frames - 1;
      if (time >= end) {
        held += passed;
        if (held > 1.2) { // replay
          time = 0;
          held = 0;
          mark();
        }
      } else {
        time = Math.min(end, time + passed * rate / film.seconds);
        mark();
      }
    }
    if (!dirty) return;
    dirty = false;
    stage?.advance(time);
    stage?.render();
    state.frames = ++rendered;
  }

  function say(text) {
    $("message").textContent = text;
    $("message").hidden = false;
  }

  // --- controls

  $("play").addEventListener("click", () => play(!playing));
  $("scrub").addEventListener("input", () => {
    playing = false;
    seek(Number($("scrub").value));
  });
  $("speed").addEventListener("change", () => { rate = Number($("speed").value); });
  const view = (change) => {
    if (!stage) return;
    change();
    mark();
  };
  const views = {
    follow: () => view(() => stage.follow(!stage.following)),
    overview: () => view(() => stage.overview()),
    reset: () => view(() => stage.home()),
  };
  for (const [id, change] of Object.entries(views)) $(id).addEventListener("click", change);
  stage?.controls.addEventListener("change", () => { if (!stage.updating) dirty = true; });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === "SELECT") return;
    const button = e.target.tagName === "BUTTON";
    const by = e.shiftKey ? 10 : 1;
    const faster = (d) => {
      $("speed").selectedIndex = Math.min(Math.max($("speed").selectedIndex + d, 0), $("speed").length - 1);
      rate = Number($("speed").value);
    };
    const todo = {
      " ": button ? null : () => play(!playing),
      ArrowRight: () => { playing = false; seek(Math.floor(time + 1e-6) + by); },
      ArrowLeft: () => { playing = false; seek(Math.ceil(time - 1e-6) - by); },
      Home: () => seek(0),
      End: () => seek(Infinity),
      f: views.follow, o: views.overview, r: views.reset,
      "+": () => faster(1), "-": () => faster(-1),
    }[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!todo) return;
    e.preventDefault();
    todo();
  });

  const narrow = matchMedia("(max-width: 759px)");
  function fit() {
    if (host) host.style.height = narrow.matches ? (index ? "800px" : "430px") : (index ? "540px" : "460px");
    // A map is as large as the height allows, but leaves space for the stage.
    if (index?.widthFor && !narrow.matches) {
      const page = $("page").clientWidth;
      const want = index.widthFor($("choice").clientHeight);
      $("index").style.flexBasis = `${Math.round(Math.max(340, Math.min(want, .56 * page)))}px`;
    } else {
      $("index").style.flexBasis = "";
    }
    const box = $("canvas").getBoundingClientRect();
    stage?.resize(Math.max(1, Math.round(box.width)), Math.max(1, Math.round(box.height)), sharp);
    index?.resize();
    dirty = true;
  }
  // The canvas takes its size from the page layout, not from its own contents.
  const sizes = new ResizeObserver(fit);
  for (const id of ["stage", "choice"]) sizes.observe($(id));
  new IntersectionObserver((seen) => {
    visible = seen[seen.length - 1].isIntersecting;
    dirty = true;
  }).observe($("page"));
  const restyle = () => {
    stage?.theme(theme());
    dirty = true;
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  if (host) new MutationObserver(restyle).observe(host.ownerDocument.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });

  fit();
  await choose(known.first);
  if (stage) {
    stage.home();
    stage.render();
    stage.renderer.getContext().readPixels(0, 0, 1, 1, 6408, 5121, new Uint8Array(4)); // waits until the frame is drawn
  }
  state.firstFrame = performance.now().toFixed(0);
  mark();
  last = performance.now();
  requestAnimationFrame(draw);
}

main().catch((error) => {
  $("message").textContent = `Cannot show the page: ${error.message}`;
  $("message").hidden = false;
  throw error;
});
